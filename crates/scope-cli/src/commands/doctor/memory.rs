//! The machine's main memory, where the system reports it in a file.

use serde::Serialize;

/// Where Linux reports it; other systems have no such file, and nothing is said of their memory.
const MEMORY_FILE: &str = "/proc/meminfo";

/// How much there is, and how much of it programs can still have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Memory {
    pub(super) total_gib: f64,
    pub(super) available_gib: f64,
}

impl Memory {
    /// The memory of this machine, if it can be told.
    pub(super) fn of_this_machine() -> Option<Self> {
        Self::parse(&std::fs::read_to_string(MEMORY_FILE).ok()?)
    }

    /// Reads lines such as `MemTotal:  16316412 kB`.
    fn parse(text: &str) -> Option<Self> {
        let gib = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kib / f64::from(1 << 20))
        };
        Some(Self { total_gib: gib("MemTotal")?, available_gib: gib("MemAvailable")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_linux_writes_it() {
        let text = "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n";
        assert_eq!(Memory::parse(text), Some(Memory { total_gib: 16.0, available_gib: 8.0 }));
    }

    #[test]
    fn what_is_written_otherwise_is_not_guessed() {
        for text in
            ["", "MemTotal: 16 kB", "MemTotal: 16\nMemAvailable: 8", "MemTotal: x kB\nMemAvailable: 8 kB"]
        {
            assert_eq!(Memory::parse(text), None, "{text}");
        }
    }
}
