//! The real program in a folder, as tests of several commands run it.

use std::{io::ErrorKind, path::Path};

use assert_cmd::Command;

/// The program with arguments; models are those of the checkout, whatever the environment says.
pub(crate) fn scope(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("scope").unwrap();
    command.current_dir(folder).env_remove("SCOPE_MODELS").args(arguments);
    command
}

/// What a command that must succeed prints.
pub(crate) fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = scope(folder, arguments).assert().success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

/// What a command that must end with an exit code complains of.
pub(crate) fn refused(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = scope(folder, arguments).assert().code(code).get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

/// A copy of the program in a folder away from the checkout, where it finds no models but its own.
pub(crate) fn alone(folder: &Path) -> std::process::Command {
    let program = folder.join("alone");
    if !program.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_scope"), &program).unwrap();
    }
    let mut command = std::process::Command::new(program);
    command.current_dir(folder).env_remove("SCOPE_MODELS").arg("--version");
    // A child of another test has the copy open for writing until it begins its own program.
    while let Err(error) = command.output() {
        assert_eq!(error.kind(), ErrorKind::ExecutableFileBusy, "{error}");
        std::thread::yield_now();
    }
    let mut command = std::process::Command::new(command.get_program());
    command.current_dir(folder).env_remove("SCOPE_MODELS");
    command
}

/// Has a hangup reach the program even where the tests themselves run under `nohup`, which ignores it for all below.
#[cfg(unix)]
#[allow(unsafe_code)]
pub(crate) fn that_hangups_reach(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    // SAFETY: `signal` may be called between fork and exec, and the default action needs no handler.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            Ok(())
        })
    }
}
