//! Requests of a container runtime to a registry, its hosts, and their responses.

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
