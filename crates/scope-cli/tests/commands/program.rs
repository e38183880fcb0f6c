//! The real program in a folder, as tests of several commands run it.

use std::path::Path;

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
