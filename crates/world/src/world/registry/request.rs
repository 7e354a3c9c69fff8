//! Requests of a container runtime to a registry, its hosts, and their responses.

use crate::world::ids::PullId;

/// One request of a pull, in the order in which they are sent.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Request {
    /// The first HEAD, answered with 401 and the address of the token service.
    Challenge,
    /// At the token service.
    Token,
    /// The HEAD that resolves the tag.
    Resolve,
    /// The list of platforms.
    Index,
    /// The platform's manifest.
    Manifest,
    /// The config blob.
    Config,
    /// The layer at this index.
    Layer(u16),
}

impl Request {
    /// Whether it asks for a blob.
    pub(crate) const fn is_blob(self) -> bool {
        matches!(self, Self::Config | Self::Layer(_))
    }

    /// The host that it is sent to first.
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

    /// The same, to one host of the registry.
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
    /// The request, to whatever host.
    pub(crate) const fn pull_request(self) -> PullRequest {
        PullRequest::new(self.pull, self.request)
    }
}

/// Which of a registry's hosts.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum HostRole {
    /// Manifests, and redirects to blobs.
    Api,
    /// Tokens.
    Token,
    /// The bytes of blobs.
    Blobs,
}

/// A host's response to a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Response {
    /// Success, or a redirect to the blob host.
    Ok,
    /// 429.
    TooManyRequests,
    /// 503.
    Unavailable,
}
