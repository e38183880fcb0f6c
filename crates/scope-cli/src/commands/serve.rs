//! `scope serve`: the page, and a service for programs.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

use clap::Args;
use scope_data::read_bounded_text;
use scope_model::{Catalogue, Listing};
use scope_serve::{Limits, Models, Options, ServeError, Server};

use super::{Misuse, Outcome, device::DeviceArguments, models};
use crate::terminal::{Interrupt, notice, say, warn};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope serve
  scope serve --port 8700 --models /srv/models
  scope serve --host 0.0.0.0 --token-file token.txt
  curl --data-binary @sensors.csv -H 'content-type: text/csv' 'http://127.0.0.1:8600/v1/recover?model=poisson'

docs/serve.md has every path and format. An interrupt or a termination signal lets requests that have begun be answered.";

/// The longest file of a token.
const TOKEN_BYTES: u64 = 4096;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeCommand {
    /// The address to listen on; one that other machines can reach needs --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8600)]
    port: u16,
    /// Serve the models of this folder only, each a NAME.safetensors with its card NAME.toml
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// A file with the token that requests must show, 16 letters or more
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArguments,
}

impl ServeCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        anyhow::ensure!(
            self.token_file.is_some() || self.host.is_loopback(),
            Misuse::of(format!(
                "--host {} can be reached from other machines: add --token-file FILE",
                self.host
            ))
        );
        let token =
            self.token_file.as_deref().map(|path| read_bounded_text(path, TOKEN_BYTES)).transpose()?;
        let catalogue = match &self.models {
            Some(folder) => {
                anyhow::ensure!(folder.is_dir(), "--models {} is no folder", folder.display());
                Catalogue::new(vec![folder.clone()], Vec::new())
            }
            None => models::catalogue(),
        };
        let Listing { models: found, unreadable } = catalogue.list()?;
        for error in unreadable {
            warn(&format!("a model is left out: {}", error.to_string().trim_end()));
        }
        let device = self.device.open()?;
        let models = Models::load(&found, &device).map_err(|error| match error {
            ServeError::NoModels => anyhow::anyhow!("{error}. {}", models::WHERE_TO_GET),
            error => error.into(),
        })?;
        let interrupt = Interrupt::listen()?;
        let names = models.names().join(", ");
        let address = SocketAddr::new(self.host, self.port);
        let token = token.map(|text| text.trim().to_owned());
        let server = Server::bind(Options { address, token, limits: Limits::default() }, models, &device)?;
        say(&format!("http://{} serves {names}", server.address()));
        server.run(|| interrupt.requested())?;
        notice("the service has stopped");
        Ok(Outcome::Success)
    }
}
