//! Answers questions about an experiment in a page: the functions that the worker of
//! `crates/report/assets/page/explore.js` calls.
//!
//! Texts are passed in the module's memory. The page writes a text at the address returned by [`room`], and reads an
//! answer at [`answer_at`]. One [`step`] simulates one run, so that the worker can accept a newer question in between.

use std::cell::RefCell;

use fleetsim::explore::{Exploration, Explorer, PageQuestion, Trouble, refusal};

#[derive(Default)]
struct Engine {
    explorer: Option<Explorer>,
    exploration: Option<Exploration>,
    text: Vec<u8>,
    answer: String,
}

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut Engine) -> T) -> T {
    ENGINE.with_borrow_mut(work)
}

/// Reserves space for a text of `bytes` bytes, which the page writes and the next call reads. Returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    with(|engine| {
        engine.text = vec![0; bytes];
        engine.text.as_mut_ptr()
    })
}

/// The address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_at() -> *const u8 {
    with(|engine| engine.answer.as_ptr())
}

/// The length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer_length() -> usize {
    with(|engine| engine.answer.len())
}

/// Reads the experiment. Returns 0 if the experiment is invalid; the answer then contains the error.
#[unsafe(no_mangle)]
pub extern "C" fn open(_bytes: usize) -> u32 {
    with(
        |engine| match Explorer::of_files(&String::from_utf8_lossy(&engine.text)) {
            Ok(explorer) => {
                engine.explorer = Some(explorer);
                1
            }
            Err(message) => {
                engine.answer = message;
                0
            }
        },
    )
}

/// Accepts a question, which ends the previous one. Returns 0 if the question is invalid; the answer then contains the
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn ask(_bytes: usize) -> u32 {
    with(|engine| {
        let Some(explorer) = &engine.explorer else {
            return 0;
        };
        if let Some(older) = engine.exploration.take() {
            explorer.keep(older);
        }
        let (id, begun) = match serde_json::from_slice::<PageQuestion>(&engine.text) {
            Ok(question) => (question.id, explorer.begin(&question)),
            Err(error) => {
                let trouble = Trouble {
                    at: String::new(),
                    message: error.to_string(),
                    fix: String::new(),
                };
                (0, Err(vec![trouble]))
            }
        };
        match begun {
            Ok(exploration) => {
                engine.exploration = Some(exploration);
                1
            }
            Err(troubles) => {
                engine.answer = refusal(id, &troubles);
                0
            }
        }
    })
}

/// Simulates one run. Returns 1 if there is an answer, and 2 if it is the last answer to the question.
#[unsafe(no_mangle)]
pub extern "C" fn step() -> u32 {
    with(|engine| {
        let Some(exploration) = &mut engine.exploration else {
            return 2;
        };
        let missing = exploration.missing();
        if let Some(run) = missing.first() {
            match exploration.simulate(*run) {
                Ok(record) => exploration.add(*run, record),
                Err(error) => {
                    engine.answer = exploration.failure(&error);
                    return 2;
                }
            }
        }
        if missing.len() > 1 {
            return 0;
        }
        engine.answer = exploration.answer();
        if exploration.is_done() { 2 } else { 1 }
    })
}
