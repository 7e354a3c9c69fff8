//! The registry (CNCF Distribution), its mirror, pull-through caches (Distribution in proxy mode), and their access
//! logs. Distribution cannot limit requests, so a registry with a limit has nginx in front of it.
//!
//! Bytes are those of response bodies in the log: blobs and manifests, including aborted responses.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fleetsim::world::{OverLimit, RequestLimit};

use crate::command::{Server, last_line, run};
use crate::error::LabError;
use crate::machine::is_installed;

/// The port of every registry.
pub(crate) const PORT: u16 = 5000;

/// The address of a registry behind nginx.
const INNER: &str = "127.0.0.1:5001";

/// Maximum time until a registry first answers.
const STARTS_WITHIN: Duration = Duration::from_secs(20);

/// A running registry.
#[derive(Debug)]
pub(crate) struct RegistryServer {
    server: Server,
    /// The nginx in front of the registry, if there is a request limit.
    _front: Option<Server>,
    /// The address for pushing images, which bypasses the request limit.
    push_to: String,
    log: PathBuf,
    /// Number of bytes at the start of the log that belong to earlier work.
    skipped: usize,
}

/// The work that a registry has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Served {
    /// Bytes of the bodies of responses.
    pub(crate) bytes: u64,
    /// Number of requests.
    pub(crate) requests: u64,
    /// Number of responses with status 429.
    pub(crate) responses_429: u64,
    /// Number of responses with status 503.
    pub(crate) responses_503: u64,
}

impl RegistryServer {
    /// Starts a registry at `address` in a namespace, with its files in `folder`. With `upstream`, the registry is a
    /// cache of that registry.
    pub(crate) fn start(
        namespace: &str,
        address: &str,
        folder: &Path,
        upstream: Option<&str>,
        limit: Option<RequestLimit>,
    ) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file(folder))?;
        let proxy = upstream.map_or_else(String::new, |url| {
            format!("proxy: {{remoteurl: \"http://{url}\"}}\n")
        });
        let storage = format!(
            "storage: {{filesystem: {{rootdirectory: \"{}/store\"}}}}\n",
            folder.display()
        );
        let public = format!("{address}:{PORT}");
        let push_to = limit.map_or(public.clone(), |_| INNER.to_owned());
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\n{storage}http: {{addr: \"{push_to}\"}}\n{proxy}"
        );
        let config = folder.join("config.yml");
        fs::write(&config, text).map_err(LabError::file(&config))?;
        let mut log = folder.join("log");
        let server = Server::start(
            namespace,
            &["docker-registry", "serve", &config.display().to_string()],
            &log,
        )?;
        let front = limit
            .map(|limit| front(namespace, &public, folder, limit))
            .transpose()?;
        let until = Instant::now() + STARTS_WITHIN;
        // Debian's skopeo has no command that checks whether a registry answers.
        let probe = |host: &str| format!("exec 3<>/dev/tcp/{}", host.replace(':', "/"));
        let probe = format!("{} && {}", probe(&push_to), probe(&public));
        while run(
            &["ip", "netns", "exec", namespace, "bash", "-c", &probe],
            "",
        )
        .is_err()
        {
            if Instant::now() > until {
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(LabError::Program {
                    command: "docker-registry serve".to_owned(),
                    message: last_line(&said),
                });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        if front.is_some() {
            log = folder.join("access.log");
        }
        Ok(Self {
            server,
            _front: front,
            push_to,
            log,
            skipped: 0,
        })
    }

    /// The address for pushing images, which bypasses the request limit.
    pub(crate) fn push_to(&self) -> &str {
        &self.push_to
    }

    /// The id of one of the registry's processes.
    pub(crate) fn id(&self) -> u32 {
        self.server.id()
    }

    /// Resets the count of served work.
    pub(crate) fn forget(&mut self) -> Result<(), LabError> {
        self.skipped = self.read()?.len();
        Ok(())
    }

    /// The work that the registry has done since the last reset.
    pub(crate) fn served(&self) -> Result<Served, LabError> {
        Ok(self.read()?[self.skipped..]
            .lines()
            .filter_map(status_and_bytes)
            .fold(Served::default(), |sum, (status, bytes)| Served {
                bytes: sum.bytes + bytes,
                requests: sum.requests + 1,
                responses_429: sum.responses_429 + u64::from(status == 429),
                responses_503: sum.responses_503 + u64::from(status == 503),
            }))
    }

    fn read(&self) -> Result<String, LabError> {
        let bytes = fs::read(&self.log).map_err(LabError::file(&self.log))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Starts nginx in front of a registry. A burst without delay is a token bucket: nginx's burst is the number of
/// requests allowed beyond the first one.
fn front(
    namespace: &str,
    public: &str,
    folder: &Path,
    limit: RequestLimit,
) -> Result<Server, LabError> {
    if !is_installed("nginx") {
        let message = "`registry.requests` needs nginx; run: apt-get install nginx-light";
        return Err(LabError::Machine(message.to_owned()));
    }
    let status = match limit.answer {
        OverLimit::TooMany => 429,
        OverLimit::Unavailable => 503,
    };
    let (at, per_minute, burst) = (
        folder.display(),
        limit.rate.get() * 60.0,
        limit.burst.saturating_sub(1),
    );
    let text = format!(
        "daemon off;\nuser root;\npid {at}/nginx.pid;\nerror_log {at}/nginx.log;\nevents {{}}\nhttp {{\n\
         access_log {at}/access.log;\nlimit_req_zone $server_name zone=all:1m rate={per_minute:.0}r/m;\n\
         limit_req_status {status};\nserver {{\nlisten {public};\nserver_name registry;\nlocation / {{\n\
         limit_req zone=all burst={burst} nodelay;\nproxy_pass http://{INNER};\nproxy_set_header Host $http_host;\n\
         proxy_max_temp_file_size 0;\n}}\n}}\n}}\n"
    );
    let config = folder.join("nginx.conf");
    fs::write(&config, text).map_err(LabError::file(&config))?;
    Server::start(
        namespace,
        &["nginx", "-c", &config.display().to_string()],
        &folder.join("nginx.out"),
    )
}

/// Status and bytes of a line of the access log (Apache's common format): `… "GET /v2/ HTTP/1.1" 200 2 …`.
fn status_and_bytes(line: &str) -> Option<(u16, u64)> {
    let (_, rest) = line.split_once(" HTTP/1.1\" ")?;
    let mut words = rest.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_access_log_has_status_and_bytes() {
        let line = r#"10.77.1.1 - - [23/Nov/2026:20:00:00 +0000] "GET /v2/lab/app/blobs/sha256:ab HTTP/1.1" 200 2000000 "" "containerd/1.6.20~ds1""#;
        assert_eq!(status_and_bytes(line), Some((200, 2_000_000)));
        assert_eq!(status_and_bytes(r#"time="2026" level=error msg="x""#), None);
    }
}
