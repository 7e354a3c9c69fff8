//! The nodes of a site: one containerd for each, and the pulls of its client.
//!
//! All nodes of a site are in one namespace, so they share its downlink. A pull is `ctr images pull`, the client of
//! containerd, with the images' layers unpacked by the overlay snapshotter. Its beginning is the start of the client.
//!
//! Left out: the kubelet and containerd's CRI plugin. The client resolves, downloads and unpacks with the same
//! library.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fleetsim::world::PullError;
use rustix::process::Signal;

use crate::command::{Server, inside, run, signal};
use crate::error::LabError;

/// The longest time that a containerd may take to answer first.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// A running containerd.
#[derive(Debug)]
pub(crate) struct Node {
    server: Server,
    namespace: String,
    socket: PathBuf,
}

/// The clients that pull now, by a number.
pub(crate) type Clients = Arc<Mutex<BTreeMap<u64, u32>>>;

/// The command of a client that pulls an image.
#[derive(Clone, Debug)]
pub(crate) struct Pulling {
    words: Vec<String>,
}

impl Node {
    /// Starts a containerd; [`Node::wait`] waits until it answers.
    pub(crate) fn start(namespace: &str, folder: &Path) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file(folder))?;
        let (config, socket) = (folder.join("config.toml"), folder.join("sock"));
        let at = folder.display();
        // The rest of containerd is not needed, and takes time to start. Collections of garbage are so short here that
        // the default share of pauses, 2 %, makes an idle containerd look for garbage forty times a second: sixty of
        // them take a third of two processors.
        let text = format!(
            "version = 2\nroot = \"{at}/root\"\nstate = \"{at}/state\"\ndisabled_plugins = [\
             \"io.containerd.grpc.v1.cri\", \"io.containerd.internal.v1.opt\", \"io.containerd.snapshotter.v1.btrfs\", \
             \"io.containerd.snapshotter.v1.devmapper\", \"io.containerd.snapshotter.v1.zfs\", \
             \"io.containerd.snapshotter.v1.aufs\"]\n[grpc]\naddress = \"{at}/sock\"\n\
             [plugins.\"io.containerd.gc.v1.scheduler\"]\npause_threshold = 0.0001\n"
        );
        fs::write(&config, text).map_err(LabError::file(&config))?;
        let words = ["containerd", "--log-level", "error", "-c", &config.display().to_string()];
        let server = Server::start(namespace, &words, &folder.join("log"))?;
        Ok(Self { server, namespace: namespace.to_owned(), socket })
    }

    /// Waits until it answers.
    pub(crate) fn wait(&self) -> Result<(), LabError> {
        let until = Instant::now() + STARTS_WITHIN;
        while let Err(error) = self.ctr(&["version"]) {
            if Instant::now() > until {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// Asks it to end, without waiting.
    pub(crate) fn ask_to_end(&self) {
        self.server.ask_to_end();
    }

    /// A pull of an image with so many simultaneous downloads, by the hosts in a folder if there is one.
    pub(crate) fn pulling(&self, reference: &str, downloads: u32, hosts: Option<&Path>) -> Pulling {
        let socket = self.socket.display().to_string();
        let downloads = downloads.to_string();
        let pull = ["images", "pull", "--plain-http", "--snapshotter", "overlayfs", "--max-concurrent-downloads"];
        let hosts = hosts.map(|folder| ["--hosts-dir".to_owned(), folder.display().to_string()]);
        let client = ["ctr", "-a", &socket].into_iter().chain(pull).chain([downloads.as_str()]).map(str::to_owned);
        let client = client.chain(hosts.into_iter().flatten()).chain([reference.to_owned()]);
        Pulling { words: inside(&self.namespace).into_iter().chain(client).collect() }
    }

    /// Removes an image with everything that belongs to it alone.
    pub(crate) fn remove(&self, reference: &str) -> Result<(), LabError> {
        self.ctr(&["images", "rm", "--sync", reference]).map(drop)
    }

    fn ctr(&self, words: &[&str]) -> Result<String, LabError> {
        run(&[&["ctr", "-a", &self.socket.display().to_string()], words].concat(), "")
    }
}

impl Pulling {
    /// Pulls, and returns why it failed, with the client's last words.
    pub(crate) fn run(&self, number: u64, clients: &Clients) -> Result<(), (PullError, String)> {
        let broken = |error: std::io::Error| (PullError::Broken, error.to_string());
        let mut child = Command::new(&self.words[0])
            .args(&self.words[1..])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(broken)?;
        clients.lock().expect("nobody panics with it").insert(number, child.id());
        let mut said = String::new();
        let read = child.stderr.take().expect("it is piped").read_to_string(&mut said);
        let ended = child.wait();
        clients.lock().expect("nobody panics with it").remove(&number);
        read.map_err(broken)?;
        if ended.map_err(broken)?.success() { Ok(()) } else { Err((kind_of(&said), said)) }
    }
}

/// Ends all pulls in progress.
pub(crate) fn end_all(clients: &Clients) {
    for id in clients.lock().expect("nobody panics with it").values() {
        signal(*id, Signal::KILL);
    }
}

/// The kind of a failure, by the client's words.
fn kind_of(said: &str) -> PullError {
    let is = |texts: &[&str]| texts.iter().any(|text| said.contains(text));
    if is(&["429", "Too Many Requests", "toomanyrequests"]) {
        PullError::TooManyRequests
    } else if is(&["503", "Service Unavailable"]) {
        PullError::Unavailable
    } else if is(&["connection refused", "no route to host", "i/o timeout", "network is unreachable"]) {
        PullError::Unreachable
    } else {
        PullError::Broken
    }
}
