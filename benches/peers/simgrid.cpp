// SimGrid under the loads A3, B3 and C3 of `benches/sharing`: N pullers that fetch five layers each, three at a time,
// over links that share their bandwidth by max-min fairness. `benches/peers/simgrid.py` builds and runs it.
//
// Every puller is an actor that starts a layer when one ends; its flows go straight from the registry's host to its
// own (`Comm::sendto_async`), without a mailbox. The network model is CM02 without latency, so that flows share links
// and nothing else. Prints: load, pullers, flows, CPU seconds of the run alone, the simulated second of its end, and
// SimGrid's version.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

namespace sg4 = simgrid::s4u;

namespace {

constexpr int LAYERS = 5;

/// The generator of the load's definition.
struct SplitMix64 {
  uint64_t state;
  uint64_t next() {
    state += 0x9E3779B97F4A7C15ULL;
    uint64_t mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31);
  }
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }
  uint64_t within(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  double log_uniform(double low, double high) {
    const double share = static_cast<double>(next() >> 11) / 9007199254740992.0;
    return std::round(std::exp(std::log(low) + share * (std::log(high) - std::log(low))));
  }
};

struct Puller {
  sg4::Host* host = nullptr;
  double start_s = 0;
  uint64_t layers[LAYERS] = {};
};

void pull(sg4::Host* registry, const Puller& puller, int parallel) {
  sg4::this_actor::sleep_until(puller.start_s);
  std::vector<sg4::CommPtr> flows;
  int begun = 0;
  while (begun < LAYERS || !flows.empty()) {
    while (begun < LAYERS && static_cast<int>(flows.size()) < parallel) {
      flows.push_back(sg4::Comm::sendto_async(registry, puller.host, puller.layers[begun++]));
    }
    const auto ended = sg4::Comm::wait_any(flows);
    flows.erase(flows.begin() + ended);
  }
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  const char family = argv[1][0];
  const auto n = static_cast<uint64_t>(std::atoll(argv[2]));
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config("contexts/stack-size:64");

  auto* zone = sg4::create_full_zone("fleet");
  auto link = [zone, number = 0](double bytes_per_s) mutable {
    const std::string name = "link" + std::to_string(number++);
    return static_cast<const sg4::Link*>(zone->create_link(name, bytes_per_s)->set_latency(0)->seal());
  };
  SplitMix64 random{20'240'607 + n};
  const auto count = static_cast<double>(n);
  const double rate = family == 'A' ? 1.25e9 : family == 'B' ? 4e6 * count : 3e6 * count;
  auto* registry = zone->create_host("registry", 1e9)->seal();
  auto* egress = link(rate);
  std::vector<const sg4::Link*> regions;
  for (int at = 0; family == 'C' && at < 16; ++at) {
    regions.push_back(link(static_cast<double>(n * random.within(2'000'000, 7'000'000) / 16)));
  }
  std::vector<Puller> pullers(n);
  for (uint64_t at = 0; at < n; ++at) {
    Puller& puller = pullers[at];
    const double downlink = family == 'A' ? 1.25e8 : random.log_uniform(2e6, 1e8);
    puller.start_s = static_cast<double>(random.below(60'000'001)) * 1e-6;
    std::vector<const sg4::Link*> path{egress};
    if (family == 'C') {
      path.push_back(regions[random.below(16)]);
    }
    path.push_back(link(downlink));
    for (uint64_t& layer : puller.layers) {
      layer = random.within(1'000'000, 200'000'000);
    }
    puller.host = zone->create_host("puller" + std::to_string(at), 1e9)->seal();
    std::vector<sg4::LinkInRoute> route(path.begin(), path.end());
    zone->add_route(registry->get_netpoint(), puller.host->get_netpoint(), nullptr, nullptr, route, false);
  }
  zone->seal();
  for (const Puller& puller : pullers) {
    sg4::Actor::create("puller", puller.host, [registry, &puller] { pull(registry, puller, 3); });
  }
  const double before = cpu_seconds();
  engine.run();
  const double spent = cpu_seconds() - before;
  int version[3];
  sg_version_get(&version[0], &version[1], &version[2]);
  std::printf("%c3,%lu,%lu,%.6f,%.6f,%d.%d\n", family, static_cast<unsigned long>(n),
              static_cast<unsigned long>(n * LAYERS), spent, sg4::Engine::get_clock(), version[0], version[1]);
}
