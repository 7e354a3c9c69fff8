//! Connections that have not presented the page's token.
//!
//! Any user of this machine can open such connections, so they have their own slots and take none from clients with
//! the token. If there are too many, the oldest is closed; a legitimate request arrives completely within a
//! millisecond.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of connections without the token.
pub(super) const MOST_STRANGERS: usize = 32;

/// The connections without the token, oldest first.
#[derive(Debug, Default)]
pub(super) struct Entrance(Mutex<Strangers>);

#[derive(Debug, Default)]
struct Strangers {
    next: u64,
    connections: VecDeque<WaitingStream>,
}

#[derive(Debug)]
struct WaitingStream {
    number: u64,
    stream: TcpStream,
}

/// The slot of a connection without the token. The slot is freed when this value is dropped.
pub(super) struct StrangerPlace {
    entrance: Arc<Entrance>,
    number: u64,
}

impl Entrance {
    /// Assigns a slot to a connection, and closes the oldest connection if there are too many.
    ///
    /// # Errors
    /// Returns an error if the process has too many open files.
    pub(super) fn admit(self: &Arc<Self>, stream: &TcpStream) -> io::Result<StrangerPlace> {
        let stream = stream.try_clone()?;
        let mut strangers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = strangers.next;
        strangers.next += 1;
        strangers
            .connections
            .push_back(WaitingStream { number, stream });
        if strangers.connections.len() > MOST_STRANGERS
            && let Some(oldest) = strangers.connections.pop_front()
        {
            let _ = oldest.stream.shutdown(Shutdown::Both);
        }
        Ok(StrangerPlace {
            entrance: Arc::clone(self),
            number,
        })
    }
}

impl Drop for StrangerPlace {
    fn drop(&mut self) {
        let mut strangers = self
            .entrance
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        strangers
            .connections
            .retain(|connection| connection.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn the_oldest_unauthenticated_connection_is_closed_when_another_arrives() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let entrance = Arc::new(Entrance::default());
        let mut places = Vec::new();
        let mut clients = Vec::new();
        for _ in 0..=MOST_STRANGERS {
            clients.push(TcpStream::connect(address).expect("connected"));
            let (stream, _) = listener.accept().expect("accepted");
            places.push((entrance.admit(&stream).expect("admitted"), stream));
        }
        let mut bytes = [0; 1];
        assert_eq!(clients[0].read(&mut bytes).expect("closed"), 0);
        clients[1].set_nonblocking(true).expect("set");
        assert!(clients[1].read(&mut bytes).is_err(), "still open");
        places.clear();
        assert!(entrance.0.lock().expect("free").connections.is_empty());
    }
}
