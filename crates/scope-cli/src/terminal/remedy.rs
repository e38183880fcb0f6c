//! The way out of an error. Libraries say what is wrong and what would help; which options of this program those are,
//! and what to do about a path that the operating system refused, is said here.

use std::{
    error::Error,
    io::{self, ErrorKind},
};

use scope_data::DataError;
use scope_eval::EvalError;
use scope_model::ModelError;
use scope_train::TrainError;

/// The options that help against a library's error.
pub(super) fn options(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = cause.downcast_ref() {
        return of_training(error);
    }
    match cause.downcast_ref() {
        Some(EvalError::Data(error)) => return of_data(error),
        Some(_) => return None,
        None => {}
    }
    cause.downcast_ref().and_then(of_model).or_else(|| cause.downcast_ref().and_then(of_data))
}

fn of_training(error: &TrainError) -> Option<&'static str> {
    match error {
        TrainError::Occupied(_) => Some("--resume or --out"),
        TrainError::Foreign(_) | TrainError::Busy { .. } | TrainError::Changed { .. } => Some("--out"),
        TrainError::Data(error) => of_data(error),
        TrainError::Model(error) => of_model(error),
        _ => None,
    }
}

fn of_model(error: &ModelError) -> Option<&'static str> {
    match error {
        ModelError::NoModelYet(_) => Some("--save-every"),
        ModelError::Changed { .. } => Some("scope model card"),
        ModelError::Data(error) => of_data(error),
        _ => None,
    }
}

fn of_data(error: &DataError) -> Option<&'static str> {
    match error {
        DataError::Occupied(_)
        | DataError::IsFile(_)
        | DataError::Irreplaceable { .. }
        | DataError::Busy(_) => Some("--out"),
        DataError::Geometry(_) => Some("--geometry"),
        DataError::Missing(_) => Some("scope data generate"),
        _ => None,
    }
}

/// What to do about a refusal of the operating system, where something can be done.
pub(super) fn remedy(refusal: &io::Error) -> Option<String> {
    let advice = match refusal.kind() {
        ErrorKind::NotFound => {
            let here = std::env::current_dir()
                .map_or("the current folder".to_owned(), |folder| folder.display().to_string());
            return Some(format!(
                "check the name, and that its folder is there; relative names begin in {here}"
            ));
        }
        ErrorKind::PermissionDenied => "ask for the right to it, or name a path that you may use",
        ErrorKind::AlreadyExists => "something of that name is there already: name another",
        ErrorKind::NotADirectory => "a part of the path is a file where a folder should be: name another",
        ErrorKind::IsADirectory => "it is a folder where a file should be: name a file",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room, or name a place on another disk",
        ErrorKind::FileTooLarge => {
            "raise the limit on the size of files (ulimit -f), or write to another disk"
        }
        ErrorKind::ReadOnlyFilesystem => "name a place that can be written",
        _ => return None,
    };
    Some(advice.to_owned())
}
