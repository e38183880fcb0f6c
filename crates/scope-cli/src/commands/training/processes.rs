//! `--processes N`: the same command in several processes of this machine, as torchrun would start them.

use std::{
    net::TcpListener,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use scope_parallel::Launch;

use crate::{
    INTERRUPTED,
    commands::Outcome,
    terminal::{Interrupt, tell},
};

/// How often processes are looked after.
const PAUSE: Duration = Duration::from_millis(20);
/// How long processes may take to end by themselves after one has failed.
const GRACE: Duration = Duration::from_secs(20);

/// Starts so many processes with this command's own arguments, and waits for all.
pub(super) fn start(count: usize) -> anyhow::Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    let program = std::env::current_exe().context("this program does not know where it lies")?;
    // Closed before rank 0 opens it; the system does not give it to anyone else so soon.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let port = port.context("the processes have no port to meet at")?.port();
    let mut team = Team { processes: Vec::new(), ended: Vec::new() };
    for rank in 0..count {
        let mut command = Command::new(&program);
        command
            .args(std::env::args_os().skip(1))
            .envs(Launch::variables_of(rank, count, port))
            .stdin(Stdio::null());
        #[cfg(target_os = "linux")]
        end_with_this_process(&mut command);
        let child =
            command.spawn().with_context(|| format!("process {rank} of {count} cannot be started"))?;
        team.processes.push(child);
        team.ended.push(None);
    }
    team.wait(&interrupt)
}

/// Processes that were started, and how those ended that have. Whatever still runs when it is dropped is ended.
struct Team {
    processes: Vec<Child>,
    ended: Vec<Option<ExitStatus>>,
}

impl Team {
    /// Waits until all have ended. A request to stop is passed on; after a failure, whoever does not end is ended.
    fn wait(mut self, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
        let mut passed_on = false;
        let mut failed: Option<Instant> = None;
        while self.ended.iter().any(Option::is_none) {
            for (process, ended) in self.processes.iter_mut().zip(&mut self.ended) {
                if ended.is_none() {
                    *ended = process.try_wait().context("a process cannot be waited for")?;
                }
            }
            if interrupt.requested() && !passed_on {
                passed_on = true;
                self.ask_to_stop();
            }
            if failed.is_none() && self.first_failure().is_some() {
                failed = Some(Instant::now());
            }
            if failed.is_some_and(|since| since.elapsed() > GRACE) {
                break;
            }
            thread::sleep(PAUSE);
        }
        self.outcome()
    }

    /// Passes a request to stop on; a process that has heard of it already takes both for one.
    fn ask_to_stop(&self) {
        let running = self.processes.iter().zip(&self.ended).filter(|(_, ended)| ended.is_none());
        for (process, _) in running {
            if let Ok(number) = i32::try_from(process.id()) {
                terminate(number);
            }
        }
    }

    /// The first process that failed, and how it ended.
    fn first_failure(&self) -> Option<(usize, ExitStatus)> {
        let fine = |status: &ExitStatus| matches!(status.code(), Some(code) if code == 0 || code == i32::from(INTERRUPTED));
        let ended = self.ended.iter().enumerate().filter_map(|(rank, ended)| Some((rank, (*ended)?)));
        // One that a signal has ended is why the others failed.
        let mut failures: Vec<_> = ended.filter(|(_, status)| !fine(status)).collect();
        failures.sort_by_key(|(rank, status)| (status.code().is_some(), *rank));
        failures.first().copied()
    }

    fn outcome(&self) -> anyhow::Result<Outcome> {
        let size = self.processes.len();
        if let Some((rank, status)) = self.first_failure() {
            anyhow::bail!(
                "process {rank} of {size} failed ({status}), and the run has stopped: go on with --resume and any number of processes, \
                 once what it complained of is put right"
            );
        }
        let first = self.ended.first().copied().flatten();
        Ok(match first.and_then(|status| status.code()) {
            Some(0) => Outcome::Success,
            _ => Outcome::Interrupted,
        })
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for (rank, process) in self.processes.iter_mut().enumerate() {
            if self.ended[rank].is_none() && process.try_wait().is_ok_and(|status| status.is_none()) {
                tell(&format!("process {rank} did not end by itself, and is ended"));
                // It may end at this very moment, which is as well.
                let _ = process.kill();
                let _ = process.wait();
            }
        }
    }
}

/// Has the system ask the process to stop when this one ends without a word, as when it is killed. The thread that
/// starts it is what the system watches: it waits for all processes, and ends with the program.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn end_with_this_process(command: &mut Command) {
    use std::{io, os::unix::process::CommandExt};

    let parent = std::process::id();
    let tie = move || {
        // SAFETY: the call has one number for an argument, and memory is none of its business.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // It may have ended in the meantime, of which nobody would tell any more.
        let same = std::os::unix::process::parent_id() == parent;
        if same { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: between fork and exec, it makes two system calls and takes no memory.
    unsafe { command.pre_exec(tie) };
}

#[cfg(unix)]
#[allow(unsafe_code)]
fn terminate(process: i32) {
    // SAFETY: sends a signal to a process that this one has started and not waited for to the end.
    unsafe { libc::kill(process, libc::SIGTERM) };
}

#[cfg(not(unix))]
fn terminate(_: i32) {}
