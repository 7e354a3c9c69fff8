// Numbers and times as tables and charts write them.

/** A whole number with thousands separators. */
const count = (value) => Math.round(value).toLocaleString("en-US");

/** A number with about three digits that count. */
function number(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 99.95) return count(value);
  const decimals = size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.0995 ? 3 : 4;
  return String(Number(value.toFixed(decimals)));
}

/** The unit in which times up to `span` seconds are short numbers: its length and name. */
function timeUnit(span) {
  if (span < 99.95) return [1, "s"];
  if (span < 5997) return [60, "min"];
  if (span < 172800) return [3600, "h"];
  return [86400, "d"];
}

/** `45.3 s`, `8.10 min`, `3.42 h`. */
function time(seconds) {
  if (seconds === 0) return "0 s";
  const [unit, name] = timeUnit(Math.abs(seconds));
  const value = seconds / unit;
  const decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(decimals)} ${name}`;
}

/** A tick of a time axis: `30 s`, `1 min`, `90 min`, `2 h`. */
function timeTick(seconds) {
  if (seconds === 0) return "0";
  const [unit, name] =
    seconds >= 86400 && seconds % 86400 === 0 ? [86400, "d"]
    : seconds >= 3600 && seconds % 1800 === 0 ? [3600, "h"]
    : seconds >= 60 && seconds % 30 === 0 ? [60, "min"]
    : [1, "s"];
  return `${number(seconds / unit)} ${name}`;
}

const steps = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400,
  172800, 432000, 864000, 2592000,
];

/** Round times between `from` and `to` with about `room` of them. */
function timeTicks(from, to, room) {
  const step = steps.find((step) => (to - from) / step <= room) || steps[steps.length - 1];
  const ticks = [];
  for (let at = Math.ceil(from / step - 1e-9); at * step <= to * (1 + 1e-9); at += 1) ticks.push(at * step);
  return ticks;
}

const logTimes = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000, 86400, 172800, 432000, 864000];
const rounder = [1, 10, 60, 600, 3600, 36000, 86400, 864000];

/** Round times between `from` and `to` for a logarithmic axis; rounder ones when there is little room. */
function logTimeTicks(from, to, room) {
  const inside = (times) => times.filter((time) => time >= from * 0.999 && time <= to * 1.001);
  const all = inside(logTimes);
  if (all.length < 2) return timeTicks(from, to, room);
  if (all.length <= room) return all;
  const few = inside(rounder);
  return few.length <= room ? few : few.filter((_, at) => at % 2 === 0);
}

/** Round values from zero to the first that is not below `most`. */
function valueTicks(most, room) {
  if (!(most > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(most / room));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => most / step <= room);
  const ticks = [];
  for (let at = 0; at <= Math.ceil(most / step - 1e-9); at += 1) ticks.push(at * step);
  return ticks;
}
