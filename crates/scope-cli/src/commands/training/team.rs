//! A run as one of several processes: rank 0 plans and keeps it, and all train.

use scope_data::Dataset;
use scope_engine::{Cuda, Device, NCCL_ID, Nccl};
use scope_parallel::{Communicator, Launch, Tcp, all_gather, broadcast};
use scope_train::{
    Callback, Length, Recipe, RunConfig, RunFolder, RunOutcome, RunRequest, Team, TrainingSet, USUAL_PARTS,
};

use super::{RunArguments, build_trainer, finish, live::Live, weights::Weights};
use crate::{
    FAILURE,
    commands::{Misuse, Outcome},
    terminal::{Interrupt, complain, notice, say},
};

/// Listens for a request to stop, and shows nothing: rank 0 does.
struct Quiet(Interrupt);

impl Callback for Quiet {
    fn should_stop(&self) -> bool {
        self.0.requested()
    }
}

impl RunArguments {
    /// Meets the other processes, and trains with them.
    pub(super) fn train_in_team(
        &self,
        launch: &Launch,
        request: RunRequest,
        data: &Dataset,
        weights: Option<&Weights>,
    ) -> anyhow::Result<Outcome> {
        let device = self.device.open_for(launch)?;
        weights.map_or(Ok(()), |weights| weights.require_outside(&self.out))?;
        let mut ranks = connect(launch, &device)?;
        let planned = self.plan_in_team(ranks.as_mut(), &device, request, data, weights);
        // GPUs are connected last: whoever fails before then keeps no other waiting in the library.
        let ready = planned.and_then(|(folder, config)| {
            let trainer = build_trainer(&config, &device, weights)?;
            Ok((folder, config, trainer, connect_gpus(ranks.as_mut(), &device)?))
        });
        let (folder, config, trainer, nccl) = ready.inspect_err(|error| ranks.abort(&error.to_string()))?;
        let options = self.options(&device);
        let mut trainer = trainer.in_team(Team::new(ranks, config.recipe.parts, config.recipe.batch)?);
        if let Some(nccl) = nccl {
            trainer = trainer.over(nccl);
        }
        let Some(folder) = folder else {
            let ending =
                scope_train::follow(&config, data, &mut trainer, options, &mut Quiet(Interrupt::listen()?));
            return Ok(match ending? {
                RunOutcome::Interrupted => Outcome::Interrupted,
                RunOutcome::Finished | RunOutcome::WasFinished | RunOutcome::ModelWritten => Outcome::Success,
            });
        };
        say(&format!("processes that share every batch: {}", launch.size));
        let mut live = Live::new(&config)?;
        let ending = scope_train::run(&folder, &config, data, &mut trainer, options, &mut live);
        live.finish();
        finish(&folder, &config, ending?)
    }

    /// Refuses a length that several processes cannot tell beforehand.
    pub(super) fn require_countable(&self, size: usize) -> Result<(), Misuse> {
        match self.length() {
            Some(Length::Minutes(_)) if size > 1 => Err(Misuse::of(
                "how much several processes do in a time is not measured beforehand: name --draws or --epochs",
            )),
            _ => Ok(()),
        }
    }

    /// The run's configuration, from rank 0, which alone has the folder.
    fn plan_in_team(
        &self,
        ranks: &mut dyn Communicator,
        device: &Device,
        request: RunRequest,
        data: &Dataset,
        weights: Option<&Weights>,
    ) -> anyhow::Result<(Option<RunFolder>, RunConfig)> {
        require_same_device(ranks, device)?;
        self.require_countable(ranks.size())?;
        if ranks.rank() == 0 {
            let folder = RunFolder::open(&self.out, self.resume)?;
            let config = self.plan_for(ranks.size(), &folder, device, request, data, weights)?;
            let text = config.to_text().map_err(anyhow::Error::msg)?;
            broadcast(ranks, text.as_bytes())?;
            return Ok((Some(folder), config));
        }
        let text = broadcast(ranks, &[])?;
        let config = str::from_utf8(&text).map_err(|error| error.to_string()).and_then(RunConfig::from_text);
        let config = config.map_err(|problem| anyhow::anyhow!("rank 0's configuration: {problem}"))?;
        anyhow::ensure!(
            TrainingSet::of(data) == config.data,
            "{} holds other records than rank 0's: every process must have the same",
            self.data.display()
        );
        let begun = config.adapt.as_ref().map(|adapt| &adapt.base);
        let begun = begun.or(config.from.as_ref().map(|from| &from.weights));
        anyhow::ensure!(
            begun == weights.map(|weights| &weights.hash),
            "the weights that this process begins with are not rank 0's: every process must have the same"
        );
        Ok((None, config))
    }

    /// Rank 0's plan: a new run is cut into parts, so that any number of processes gives the same bits.
    fn plan_for(
        &self,
        size: usize,
        folder: &RunFolder,
        device: &Device,
        request: RunRequest,
        data: &Dataset,
        weights: Option<&Weights>,
    ) -> anyhow::Result<RunConfig> {
        let is_new = !folder.config().exists();
        if self.resume && is_new {
            notice(&format!("{} holds no run to go on with: a new one begins", self.out.display()));
        }
        anyhow::ensure!(
            matches!(device, Device::Cpu(_)) || request.recipe.batch.is_multiple_of(size),
            Misuse::of(format!(
                "a batch of {} cannot be shared equally by {size} GPUs: set another with --set batch=N",
                request.recipe.batch
            ))
        );
        let exact = matches!(device, Device::Cpu(_)) && !self.fast_reduction;
        let Recipe { parts, batch, .. } = request.recipe;
        anyhow::ensure!(
            !self.fast_reduction || parts.is_none(),
            Misuse::of("--fast-reduction has no parts: leave --set parts out")
        );
        let usual = (exact && is_new).then(|| USUAL_PARTS.max(size.next_power_of_two()).min(batch));
        let recipe = Recipe { parts: parts.or(usual), ..request.recipe };
        let build = |config: &RunConfig| build_trainer(config, device, weights);
        let request = RunRequest { recipe, ..request };
        let threads = self.options(device).threads;
        let config = scope_train::plan_or_resume(folder, request, data, &build, threads)?;
        anyhow::ensure!(
            size == 1 || !exact || config.recipe.parts.is_some(),
            Misuse::of(format!(
                "{} was begun without parts, which several processes would share: go on in one process, or with --fast-reduction, which \
                 gives other bits",
                self.out.display()
            ))
        );
        Ok(config)
    }
}

/// Meets the other processes: over TCP, or through MPI where the program has it and mpirun has started them.
pub(in crate::commands) fn connect(
    launch: &Launch,
    device: &Device,
) -> anyhow::Result<Box<dyn Communicator>> {
    #[cfg(feature = "mpi")]
    if Launch::is_of_mpi() {
        return Ok(Box::new(scope_parallel::Mpi::connect()?));
    }
    let tcp = Tcp::connect(launch)?;
    if matches!(device, Device::Cuda(_)) {
        // A GPU that waits for a lost one waits for ever.
        tcp.when_lost(end_program);
    }
    Ok(Box::new(tcp))
}

/// Ends the program, which waits for a rank that does not come. Nothing is taken apart, for that would wait too: CUDA's
/// own parts wait for a GPU that waits for another.
fn end_program(why: &str) {
    complain(&anyhow::anyhow!(
        "{why}; the run can be resumed from its newest checkpoint with any number of processes (--resume)"
    ));
    signal_hook::low_level::exit(i32::from(FAILURE));
}

/// Connects the processes' GPUs with each other, if they compute on GPUs.
pub(in crate::commands) fn connect_gpus(
    ranks: &mut dyn Communicator,
    device: &Device,
) -> anyhow::Result<Option<Nccl>> {
    let Device::Cuda(cuda) = device else { return Ok(None) };
    require_own_gpus(ranks, cuda)?;
    let id = if ranks.rank() == 0 { Nccl::unique_id()?.to_vec() } else { Vec::new() };
    let id = broadcast(ranks, &id)?;
    let id: [u8; NCCL_ID] =
        id.try_into().map_err(|_| anyhow::anyhow!("rank 0 sent something else than NCCL's id"))?;
    let mut nccl = Nccl::connect(cuda, &id, ranks.rank(), ranks.size())?;
    nccl.when_failed(end_program)?;
    Ok(Some(nccl))
}

/// The variable with which NCCL, from version 2.30 on, lets several ranks have one GPU.
const MULTI_RANK: &str = "NCCL_MULTI_RANK_GPU_ENABLE";

/// Refuses processes that compute on the same GPU, unless NCCL is told that this is meant.
fn require_own_gpus(ranks: &mut dyn Communicator, cuda: &Cuda) -> anyhow::Result<()> {
    let all = all_gather(ranks, &cuda.uuid()?)?;
    if std::env::var_os(MULTI_RANK).is_some_and(|value| value == "1") {
        return Ok(());
    }
    let twin =
        |rank: usize| all[..rank].iter().position(|other| *other == all[rank]).map(|other| (other, rank));
    if let Some((one, other)) = (0..all.len()).find_map(twin) {
        anyhow::bail!(
            "ranks {one} and {other} compute on one GPU: start one process for each GPU, and with a launcher that shows each \
             process its own, as srun --gpus-per-task 1 does, see that it does ({MULTI_RANK}=1 allows it for a trial, from \
             NCCL 2.30 on)"
        );
    }
    Ok(())
}

/// Refuses processes that do not compute on the same kind of device.
fn require_same_device(ranks: &mut dyn Communicator, device: &Device) -> anyhow::Result<()> {
    let kind: &[u8] = match device {
        Device::Cpu(_) => b"a processor",
        Device::Cuda(_) => b"a GPU",
    };
    let kinds = all_gather(ranks, kind)?;
    let other = kinds.iter().enumerate().find(|(_, other)| other.as_slice() != kinds[0]);
    if let Some((rank, other)) = other {
        anyhow::bail!(
            "rank {rank} computes on {} and rank 0 on {}: name the device with --device",
            String::from_utf8_lossy(other),
            String::from_utf8_lossy(&kinds[0])
        );
    }
    Ok(())
}
