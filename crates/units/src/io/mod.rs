//! Reading untrusted files, removing temporary files, and printing untrusted text to a terminal.
//!
//! Someone else's results, shards, experiments and exports are not trusted; `docs/security.md` describes the limits.
//!
//! | file | subject |
//! |---|---|
//! | `git` | untrusted repositories: objects of a revision, and whether git tracks or ignores a file |
//! | `input` | files that a user names as inputs, including compressed files and standard input |
//! | `read` | opens the files that experiments, exports, shards and results folders name |
//! | `state` | the user's own folder, which nobody else can write to |
//! | `temporary` | files and folders that a failure or a signal removes |
//! | `terminal` | control characters that must not reach a terminal |

mod git;
mod input;
mod read;
mod state;
mod temporary;
mod terminal;

pub use git::{EntryKind, Repository, RevisionEntry};
pub use input::{in_words, is_stdin, open_input, text_of, unpacked};
pub use read::{
    MOST_BYTES, open_below, open_file, open_own, path_below, read_below, read_below_at_most,
    read_file,
};
pub use state::state_folder;
pub use temporary::{NewFolders, Temporary, abandon, create, uninterrupted};
pub use terminal::{in_one_line, printable};
