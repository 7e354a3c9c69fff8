//! Parallel jobs that start in a given order: each free thread starts the next job.
//!
//! A parallel iterator is not suitable, because it assigns a part of the jobs to each thread, and one thread may then
//! start a long job when all others are done.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::StudyError;

/// Runs `jobs` jobs on the threads of the current rayon pool and returns their results in the order of their indices.
/// After a job fails, no further job starts. Exceptions are failed runs, and runs that belong to other shards: the
/// other jobs are then still done.
pub(crate) fn in_order<T: Send>(
    jobs: usize,
    job: impl Fn(usize) -> Result<T, StudyError> + Sync,
) -> Result<Vec<T>, StudyError> {
    let queue = JobQueue {
        jobs,
        next: AtomicUsize::new(0),
        done: Mutex::new(Ok((0..jobs).map(|_| None).collect())),
    };
    rayon::broadcast(|_| {
        while let Some(number) = queue.take() {
            match job(number) {
                Ok(result) => queue.finish(number, result),
                Err(error) => queue.fail(error),
            }
        }
    });
    let done = queue.done.into_inner().expect("no holder panics")?;
    Ok(done
        .into_iter()
        .map(|result| result.expect("every job was done, none failed"))
        .collect())
}

/// Jobs that are started in the order of their indices.
struct JobQueue<T> {
    /// The number of jobs.
    jobs: usize,
    /// The index of the job that starts next.
    next: AtomicUsize,
    /// The results so far, or the error that ended the queue.
    done: Mutex<Result<Vec<Option<T>>, StudyError>>,
}

impl<T> JobQueue<T> {
    /// Returns the index of the next job. `None`: no further job starts.
    fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.jobs).then_some(number)
    }

    /// Stores the result of a job, unless another job has failed.
    fn finish(&self, number: usize, result: T) {
        let mut done = self.done.lock().expect("no holder panics");
        if let Ok(results) = done.as_mut() {
            results[number] = Some(result);
        }
    }

    /// Stores the error of a job. Failed runs take precedence over runs that belong to other shards, and any other
    /// error over both.
    fn fail(&self, error: StudyError) {
        let mut done = self.done.lock().expect("no holder panics");
        match error {
            // A failed run does not affect the other runs.
            StudyError::Runs(mut more) => match done.as_mut() {
                Ok(_) | Err(StudyError::OtherShards) => *done = Err(StudyError::Runs(more)),
                Err(StudyError::Runs(failures)) => failures.append(&mut more),
                Err(_) => {}
            },
            StudyError::OtherShards if done.is_err() => {}
            StudyError::OtherShards => *done = Err(StudyError::OtherShards),
            error => {
                // No further job starts.
                self.next.store(self.jobs, Ordering::Relaxed);
                *done = Err(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs_on_any_number_of_threads() {
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("threads");
            let squares = pool.install(|| in_order(50, |at| Ok(at * at)));
            assert_eq!(
                squares.expect("no job fails"),
                (0..50).map(|at| at * at).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn no_job_starts_after_a_failure() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .expect("a thread");
        let begun = AtomicUsize::new(0);
        let failing = |at| {
            begun.fetch_add(1, Ordering::Relaxed);
            if at == 5 {
                Err(StudyError::Different {
                    variant: "waves".to_owned(),
                    replicate: 5,
                })
            } else {
                Ok(())
            }
        };
        assert!(pool.install(|| in_order(50, failing)).is_err());
        assert_eq!(begun.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn runs_of_other_shards_do_not_prevent_runs_of_this_shard() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .expect("threads");
        let begun = AtomicUsize::new(0);
        let own = |at: usize| {
            begun.fetch_add(usize::from(at.is_multiple_of(3)), Ordering::Relaxed);
            if at.is_multiple_of(3) {
                Ok(())
            } else {
                Err(StudyError::OtherShards)
            }
        };
        let result = pool.install(|| in_order(50, own));
        assert!(matches!(result, Err(StudyError::OtherShards)));
        assert_eq!(begun.load(Ordering::Relaxed), 17, "0, 3, … 48");
    }
}
