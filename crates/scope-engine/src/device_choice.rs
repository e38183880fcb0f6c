//! Devices by name.

use std::str::FromStr;

/// A device by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A GPU if there is one, else the processor.
    Auto,
    /// The processor.
    Cpu,
    /// A GPU, counted from zero.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let number = text.strip_prefix("cuda:").and_then(|number| number.parse().ok());
                number.map(Self::Cuda).ok_or_else(|| "expected auto, cpu, cuda or cuda:N".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_names() {
        let read = |text: &str| text.parse::<DeviceChoice>();
        assert_eq!(read("auto"), Ok(DeviceChoice::Auto));
        assert_eq!(read("cuda"), Ok(DeviceChoice::Cuda(0)));
        assert_eq!(read("cuda:3"), Ok(DeviceChoice::Cuda(3)));
        for wrong in ["gpu", "cuda:", "cuda:-1", "CPU", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
