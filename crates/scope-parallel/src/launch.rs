//! Which rank this process is, as whoever started it says: torchrun, SLURM's srun, or Open MPI's mpirun.

use crate::error::ParallelError;

/// Where ports begin that are made from the name of a job, and how many there are.
const FIRST_PORT: u64 = 20_000;
const PORTS: u64 = 20_000;

/// One of several processes that were started together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Which process this is, from 0.
    pub rank: usize,
    /// How many there are.
    pub size: usize,
    /// Which of those on this machine it is, from 0.
    pub local_rank: usize,
    /// How many there are on this machine, as far as the launcher tells; else one.
    pub local_size: usize,
    /// Where the processes meet, if that is known.
    pub rendezvous: Option<Rendezvous>,
}

/// Where processes meet: an address of rank 0's machine, and a port of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendezvous {
    /// A name or an address.
    pub host: String,
    /// A free port.
    pub port: u16,
}

/// The variables in which a launcher tells rank, size and local rank.
struct Launcher {
    name: &'static str,
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    local_size: Option<&'static str>,
}

/// In this order: torchrun's may be given by hand under any other. SLURM's are those of a step: a batch script, which
/// is no rank, has others of the job.
const LAUNCHERS: [Launcher; 3] = [
    Launcher {
        name: "torchrun",
        rank: "RANK",
        size: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
        local_size: Some("LOCAL_WORLD_SIZE"),
    },
    Launcher {
        name: "srun",
        rank: "SLURM_PROCID",
        size: "SLURM_STEP_NUM_TASKS",
        local_rank: "SLURM_LOCALID",
        // SLURM gives each task its processors, so that there is nothing to divide.
        local_size: None,
    },
    Launcher {
        name: "mpirun",
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
    },
];

impl Launch {
    /// What the environment says; none if this process was started alone.
    pub fn from_environment() -> Result<Option<Self>, ParallelError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// The same for any variables.
    pub(crate) fn from_variables(
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, ParallelError> {
        let number = |name: &str| -> Result<Option<usize>, ParallelError> {
            let Some(text) = get(name) else { return Ok(None) };
            let refuse = || ParallelError::Launch(format!("{name} is \"{text}\", and no number from 0 up"));
            text.trim().parse().map(Some).map_err(|_| refuse())
        };
        for Launcher { name, rank, size, local_rank, local_size } in LAUNCHERS {
            let Some(count) = number(size)? else { continue };
            let Some(own) = number(rank)? else { continue };
            if own >= count {
                return Err(ParallelError::Launch(format!(
                    "{name} says {rank} = {own} and {size} = {count}: ranks are counted from 0 and lie below the size"
                )));
            }
            let local_rank = number(local_rank)?.unwrap_or(0);
            let local_size = local_size.map_or(Ok(None), number)?.unwrap_or(1).clamp(1, count);
            let rendezvous = rendezvous(&get, count)?;
            return Ok(Some(Self { rank: own, size: count, local_rank, local_size, rendezvous }));
        }
        Ok(None)
    }

    /// The variables, as torchrun names them, of one of several processes on this machine.
    pub fn variables_of(rank: usize, size: usize, port: u16) -> [(&'static str, String); 6] {
        [
            ("RANK", rank.to_string()),
            ("WORLD_SIZE", size.to_string()),
            ("LOCAL_RANK", rank.to_string()),
            ("LOCAL_WORLD_SIZE", size.to_string()),
            ("MASTER_ADDR", "127.0.0.1".to_owned()),
            ("MASTER_PORT", port.to_string()),
        ]
    }

    /// Whether this is a process of an MPI job, which mpirun has started.
    pub fn is_of_mpi() -> bool {
        std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some()
    }

    /// Where the processes meet, which several must know.
    pub(crate) fn require_rendezvous(&self) -> Result<&Rendezvous, ParallelError> {
        self.rendezvous.as_ref().ok_or_else(|| {
            ParallelError::Launch(format!(
                "rank {} of {} does not know where to meet the others: set MASTER_ADDR to a name of rank 0's machine \
                 and MASTER_PORT to a free port of it, the same for all",
                self.rank, self.size
            ))
        })
    }
}

/// MASTER_ADDR and MASTER_PORT; without them, what the launcher tells of the job.
fn rendezvous(
    get: &impl Fn(&str) -> Option<String>,
    size: usize,
) -> Result<Option<Rendezvous>, ParallelError> {
    let job = get("SLURM_JOB_ID").zip(get("SLURM_STEP_ID")).map(|(job, step)| format!("{job}.{step}"));
    let job = job.or_else(|| get("PMIX_NAMESPACE")).or_else(|| get("OMPI_MCA_ess_base_jobid"));
    let port = match get("MASTER_PORT") {
        Some(text) => {
            let wrong =
                |_| ParallelError::Launch(format!("MASTER_PORT is \"{text}\", and no port from 1 to 65535"));
            Some(text.trim().parse::<std::num::NonZeroU16>().map_err(wrong)?.get())
        }
        None => job.as_deref().map(port_of),
    };
    let first_node = || get("SLURM_STEP_NODELIST").and_then(|nodes| first_of(&nodes));
    // mpirun tells of the machines only whether they are one.
    let here = || {
        let local: usize = get("OMPI_COMM_WORLD_LOCAL_SIZE")?.parse().ok()?;
        (local == size).then(|| "127.0.0.1".to_owned())
    };
    let host = get("MASTER_ADDR").filter(|host| !host.is_empty()).or_else(first_node).or_else(here);
    Ok(host.zip(port).map(|(host, port)| Rendezvous { host, port }))
}

/// A port that all processes of a job find by its name.
fn port_of(job: &str) -> u16 {
    let hash = blake3::hash(job.as_bytes());
    let number = hash.as_bytes().iter().take(7).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    (FIRST_PORT + number % PORTS) as u16
}

/// The first machine of a list as SLURM writes it: `gpu[07-09,12],login1` begins with `gpu07`.
fn first_of(nodes: &str) -> Option<String> {
    let Some((name, rest)) = nodes.split_once('[').filter(|(name, _)| !name.contains(',')) else {
        return nodes.split(',').next().filter(|name| !name.is_empty()).map(str::to_owned);
    };
    let (inside, after) = rest.split_once(']')?;
    let first = inside.split([',', '-']).next()?;
    let after = after.split(',').next().unwrap_or_default();
    Some(format!("{name}{first}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)]) -> Result<Option<Launch>, String> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Launch::from_variables(get).map_err(|error| error.to_string())
    }

    #[test]
    fn every_launcher_is_understood() {
        assert_eq!(launch(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]), Ok(None));
        let torchrun = launch(&[
            ("RANK", "5"),
            ("WORLD_SIZE", "16"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "node0"),
            ("MASTER_PORT", "29500"),
        ]);
        let met = |host: &str, port| Some(Rendezvous { host: host.to_owned(), port });
        let expected =
            Launch { rank: 5, size: 16, local_rank: 1, local_size: 1, rendezvous: met("node0", 29500) };
        assert_eq!(torchrun, Ok(Some(expected)));
        let job = [("SLURM_JOB_ID", "77"), ("SLURM_STEP_ID", "0"), ("SLURM_STEP_NODELIST", "gpu[07-09,12]")];
        let step = [("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_LOCALID", "2")];
        let slurm = launch(&[&job[..], &step[..]].concat()).unwrap().unwrap();
        assert_eq!((slurm.rank, slurm.size, slurm.local_rank), (2, 4, 2));
        assert_eq!(slurm.rendezvous, met("gpu07", port_of("77.0")));
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
            ("PMIX_NAMESPACE", "prterun-host-4242@1"),
        ];
        let there = launch(&mpi).unwrap().unwrap();
        assert_eq!((there.rank, there.size, there.local_size), (1, 2, 2));
        assert_eq!(there.rendezvous, met("127.0.0.1", port_of("prterun-host-4242@1")));
        let apart: Vec<_> = mpi.iter().filter(|(name, _)| !name.ends_with("LOCAL_SIZE")).copied().collect();
        assert!(launch(&apart).unwrap().unwrap().require_rendezvous().is_err());
    }

    #[test]
    fn what_is_told_is_understood() {
        let told = Launch::variables_of(2, 3, 4000);
        let told: Vec<(&str, &str)> = told.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let launch = launch(&told).unwrap().unwrap();
        assert_eq!((launch.rank, launch.size, launch.local_rank, launch.local_size), (2, 3, 2, 3));
        let rendezvous = Rendezvous { host: "127.0.0.1".to_owned(), port: 4000 };
        assert_eq!(launch.require_rendezvous().ok(), Some(&rendezvous));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let refused = |variables: &[(&str, &str)]| launch(variables).unwrap_err();
        assert!(refused(&[("RANK", "4"), ("WORLD_SIZE", "4")]).contains("RANK = 4 and WORLD_SIZE = 4"));
        assert!(refused(&[("RANK", "one"), ("WORLD_SIZE", "4")]).contains("RANK is \"one\""));
        let port = refused(&[("RANK", "0"), ("WORLD_SIZE", "4"), ("MASTER_PORT", "0")]);
        assert!(port.contains("MASTER_PORT is \"0\""), "{port}");
    }

    #[test]
    fn the_first_machine_of_a_list_is_found() {
        let first = |nodes: &str| first_of(nodes).unwrap_or_default();
        assert_eq!(first("gpu[07-09,12],login1"), "gpu07");
        assert_eq!(first("a1,b[2-3]"), "a1");
        assert_eq!(first("rack[3,5]-ib,x"), "rack3-ib");
        assert_eq!(first("single"), "single");
        assert_eq!(first_of(""), None);
    }
}
