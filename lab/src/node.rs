//! The nodes of a site: one containerd per node, which pulls like a kubelet's runtime.
//!
//! All nodes of a site are in one namespace, so they share its downlink. A pull is `PullImage` of containerd's CRI
//! plugin; layers are unpacked by the overlay snapshotter while others arrive. A pull begins with its request.
//!
//! Left out: the kubelet, which the program's own model replaces, and everything in CRI except pulls.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fleetsim::world::PullError;
use tokio::runtime::Runtime;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::command::Server;
use crate::error::LabError;

/// Maximum time until a containerd first answers.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// A running containerd.
#[derive(Debug)]
pub(crate) struct Node {
    server: Server,
    images: ImageService,
}

/// The client of a containerd's image service. Source: the Kubernetes project's cri-api, `runtime/v1/api.proto`.
#[derive(Clone, Debug)]
pub(crate) struct ImageService {
    channel: Channel,
}

/// `PullImageRequest` and `RemoveImageRequest`, with the required fields only.
#[derive(Clone, PartialEq, prost::Message)]
struct ImageRequest {
    #[prost(message, optional, tag = "1")]
    image: Option<ImageName>,
}

/// `ImageSpec` of CRI.
#[derive(Clone, PartialEq, prost::Message)]
struct ImageName {
    #[prost(string, tag = "1")]
    image: String,
}

/// Any message whose fields are not needed.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Nothing {}

impl Node {
    /// Starts a containerd with the given number of simultaneous downloads. It tries the hosts of a registry without
    /// TLS, one after the other. [`Node::wait`] waits until containerd answers.
    pub(crate) fn start(
        namespace: &str,
        folder: &Path,
        registries: &[(String, Vec<String>)],
        downloads: u32,
        runtime: &Runtime,
    ) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file(folder))?;
        let (config, socket) = (folder.join("config.toml"), folder.join("sock"));
        let at = folder.display();
        let hosts = |(registry, hosts): &(String, Vec<String>)| {
            let urls: Vec<String> = hosts
                .iter()
                .map(|host| format!("\"http://{host}\""))
                .collect();
            let mirrors = "plugins.\"io.containerd.grpc.v1.cri\".registry.mirrors";
            format!(
                "[{mirrors}.\"{registry}\"]\nendpoint = [{}]\n",
                urls.join(", ")
            )
        };
        let hosts: String = registries.iter().map(hosts).collect();
        // The other parts of containerd are not needed, and take time to start. Garbage collections are very short
        // here. With the default share of pauses, 2 %, an idle containerd would therefore collect forty times a
        // second: sixty of them would use a third of two processors.
        let text = format!(
            "version = 2\nroot = \"{at}/root\"\nstate = \"{at}/state\"\ndisabled_plugins = [\
             \"io.containerd.internal.v1.opt\", \"io.containerd.snapshotter.v1.btrfs\", \
             \"io.containerd.snapshotter.v1.devmapper\", \"io.containerd.snapshotter.v1.zfs\", \
             \"io.containerd.snapshotter.v1.aufs\"]\n[grpc]\naddress = \"{at}/sock\"\n\
             [plugins.\"io.containerd.gc.v1.scheduler\"]\npause_threshold = 0.0001\n\
             [plugins.\"io.containerd.grpc.v1.cri\"]\nmax_concurrent_downloads = {downloads}\n\
             [plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"{at}/cni\"\nconf_dir = \"{at}/cni\"\n{hosts}"
        );
        fs::write(&config, text).map_err(LabError::file(&config))?;
        let words = [
            "containerd",
            "--log-level",
            "error",
            "-c",
            &config.display().to_string(),
        ];
        let server = Server::start(namespace, &words, &folder.join("log"))?;
        Ok(Self {
            server,
            images: ImageService::at(&socket, runtime)?,
        })
    }

    /// Waits until containerd answers.
    pub(crate) fn wait(&self, runtime: &Runtime) -> Result<(), LabError> {
        let until = Instant::now() + STARTS_WITHIN;
        while let Err(status) = runtime.block_on(
            self.images
                .call("/runtime.v1.ImageService/ListImages", Nothing {}),
        ) {
            if Instant::now() > until {
                return Err(LabError::Program {
                    command: "containerd".to_owned(),
                    message: status.message().to_owned(),
                });
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// Asks containerd to end, without waiting.
    pub(crate) fn ask_to_end(&self) {
        self.server.ask_to_end();
    }

    /// The client of containerd's image service.
    pub(crate) const fn images(&self) -> &ImageService {
        &self.images
    }
}

impl ImageService {
    /// Creates a client of the containerd at a socket, which may not exist yet.
    fn at(socket: &Path, runtime: &Runtime) -> Result<Self, LabError> {
        let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display()));
        let endpoint = endpoint.map_err(|error| LabError::Machine(error.to_string()))?;
        let _inside = runtime.enter();
        Ok(Self {
            channel: endpoint.connect_lazy(),
        })
    }

    /// Pulls an image; on failure returns the reason with the message of the status. Dropping the future cancels the
    /// pull.
    pub(crate) async fn pull(&self, reference: String) -> Result<(), (PullError, String)> {
        let request = ImageRequest {
            image: Some(ImageName { image: reference }),
        };
        let pulled = self
            .call("/runtime.v1.ImageService/PullImage", request)
            .await;
        pulled.map_err(|status| (kind_of(status.message()), status.message().to_owned()))
    }

    /// Removes an image with everything that only it uses.
    pub(crate) async fn remove(&self, reference: String) -> Result<(), Status> {
        let request = ImageRequest {
            image: Some(ImageName { image: reference }),
        };
        self.call("/runtime.v1.ImageService/RemoveImage", request)
            .await
    }

    async fn call(
        &self,
        method: &'static str,
        request: impl prost::Message + 'static,
    ) -> Result<(), Status> {
        let mut client = Grpc::new(self.channel.clone());
        client
            .ready()
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let codec = ProstCodec::<_, Nothing>::default();
        client
            .unary(
                Request::new(request),
                PathAndQuery::from_static(method),
                codec,
            )
            .await
            .map(drop)
    }
}

/// The kind of a failed pull, determined from the message of its status.
fn kind_of(said: &str) -> PullError {
    let is = |texts: &[&str]| texts.iter().any(|text| said.contains(text));
    if is(&["429", "Too Many Requests", "toomanyrequests"]) {
        PullError::TooManyRequests
    } else if is(&["503", "Service Unavailable"]) {
        PullError::Unavailable
    } else if is(&[
        "connection refused",
        "no route to host",
        "i/o timeout",
        "network is unreachable",
    ]) {
        PullError::Unreachable
    } else {
        PullError::Broken
    }
}
