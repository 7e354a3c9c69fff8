//! Requests of a container runtime to a registry, its hosts, and their responses.

use crate::world::ids::PullId;

/// A request of a pull; the variants are in the order in which they are sent.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Request {
    /// The first HEAD, which gets a 401 with the address of the token service.
    Challenge,
    /// The request to the token service.
    Token,
    /// The HEAD that resolves the tag.
    Resolve,
    /// The request for the list of platforms.
    Index,
    /// The request for the platform's manifest.
    Manifest,
    /// The request for the config blob.
    Config,
    /// The request for the layer at this index.
    Layer(u16),
}

impl Request {
    /// Returns whether the request is for a blob.
    pub(crate) const fn is_blob(self) -> bool {
        matches!(self, Self::Config | Self::Layer(_))
    }

    /// Returns the host to which the request is sent first.
    pub(crate) const fn first_host(self) -> HostRole {
        if matches!(self, Self::Token) {
            HostRole::Token
        } else {
            HostRole::Api
        }
    }
}

/// A request of one pull.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct PullRequest {
    pub(crate) pull: PullId,
    pub(crate) request: Request,
}

impl PullRequest {
    pub(crate) const fn new(pull: PullId, request: Request) -> Self {
        Self { pull, request }
    }

    /// Returns this request to one host of the registry.
    pub(crate) const fn to(self, host: HostRole) -> HostRequest {
        HostRequest {
            pull: self.pull,
            request: self.request,
            host,
        }
    }
}

/// A request of one pull to one host of a registry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct HostRequest {
    pub(crate) pull: PullId,
    pub(crate) request: Request,
    pub(crate) host: HostRole,
}

impl HostRequest {
    /// Returns the request without its host.
    pub(crate) const fn pull_request(self) -> PullRequest {
        PullRequest::new(self.pull, self.request)
    }
}

/// A role of a registry's hosts.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum HostRole {
    /// The host that serves manifests, and redirects to blobs.
    Api,
    /// The host that issues tokens.
    Token,
    /// The host that sends the bytes of blobs.
    Blobs,
}

/// A host's response to a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Response {
    /// Success, or a redirect to the blob host.
    Ok,
    /// Status 429.
    TooManyRequests,
    /// Status 503.
    Unavailable,
}
