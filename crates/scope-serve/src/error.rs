//! Why a service cannot begin.

use std::{io, net::SocketAddr};

use scope::{RecoveryError, model::ModelError};
use thiserror::Error;

/// An error of starting a service.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// An address that others can reach, and no token that would keep them out.
    #[error("{0} can be reached from other machines: give a token that requests must show")]
    TokenRequired(SocketAddr),
    /// A token that cannot be one.
    #[error("the token has {0} letters that can be shown in a request, expected at least {1}, and no others")]
    Token(usize, usize),
    /// No model to recover fields with.
    #[error("there is no model to serve")]
    NoModels,
    /// A model that cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A model that recovers nothing.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// An address that the system refuses.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// Threads or timers that the system refuses.
    #[error("the service cannot be started: {0}")]
    Start(io::Error),
}
