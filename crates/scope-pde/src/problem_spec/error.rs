//! Why a problem of one's own cannot be.

use thiserror::Error;

use super::GRID_MULTIPLE;
use crate::generate::{MAX_RESOLUTION, MIN_RESOLUTION};

/// What is wrong with a problem of one's own, and what to do.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ProblemSpecError {
    /// A problem without fields.
    #[error("it has no field: state [fields.a], [fields.u] or both, each with a name")]
    NoField,
    /// A text that is empty, too long or not printable.
    #[error("{key} is {text:?}: expected {least} to {most} printable letters")]
    Text {
        /// The key in the file.
        key: String,
        /// What the file has there.
        text: String,
        /// The fewest letters.
        least: usize,
        /// The most letters.
        most: usize,
    },
    /// A number that is not finite.
    #[error("{key} is {value:?}: expected a finite number")]
    NotFinite {
        /// The key in the file.
        key: String,
        /// What the file has there.
        value: f64,
    },
    /// A two-valued field whose values are not stated.
    #[error(
        "fields.{0} is two-valued: state its two values, the lower one first, as in values = [3.0, 12.0]"
    )]
    ValuesMissing(&'static str),
    /// Two values of a continuous field.
    #[error("fields.{0} is continuous and has values: leave them out, or state kind = \"two-valued\"")]
    ValuesOfContinuous(&'static str),
    /// Two numbers in the wrong order.
    #[error("{key} is [{low:?}, {high:?}]: expected two different numbers, the smaller one first")]
    Order {
        /// The key in the file.
        key: String,
        /// The first number.
        low: f64,
        /// The second number.
        high: f64,
    },
    /// A domain so far from zero that its points cannot be told apart.
    #[error(
        "{key} is [{low:?}, {high:?}]: its points cannot be told apart in double precision; count from another zero, or in another unit"
    )]
    Narrow {
        /// The key in the file.
        key: String,
        /// The first number.
        low: f64,
        /// The second number.
        high: f64,
    },
    /// A value that contradicts what else is said of its field.
    #[error("{key} is {value:?}, which the field cannot have: {why}")]
    Impossible {
        /// The key in the file.
        key: String,
        /// What the file has there.
        value: f64,
        /// What contradicts it.
        why: String,
    },
    /// A value on the edge of a grid that has no points there.
    #[error(
        "fields.{0}.edge fixes the outermost points, and they lie on the edge of a grid of nodes only: state points = \"nodes\", or leave it out"
    )]
    NoEdge(&'static str),
    /// A side of the grid that networks cannot have.
    #[error(
        "grid.{key} is {got}: expected a multiple of {GRID_MULTIPLE} from {MIN_RESOLUTION} to {MAX_RESOLUTION}{nearest}"
    )]
    Side {
        /// "rows" or "columns".
        key: &'static str,
        /// What the file has there.
        got: usize,
        /// What to do.
        nearest: String,
    },
    /// Two axes or fields of one name.
    #[error("{first} and {second} are both {name:?}, capitals and spaces aside: expected different ones")]
    SameName {
        /// The key of one of them in the file.
        first: &'static str,
        /// The key of the other.
        second: &'static str,
        /// The name as that of a column.
        name: String,
    },
    /// The axes are called as tables and JSON call the other one each.
    #[error(
        "domain.names calls the first axis y and the second x, and x is the first one (rows) in results: save numpy.swapaxes(x, 1, 2) and \
         exchange rows and columns, or choose other names, as in [\"north\", \"east\"]"
    )]
    AxesExchanged,
    /// An axis that is called what another column of a table of sensors is.
    #[error(
        "domain.names has {0:?}, which tables of sensors use for something else, or cannot have: expected another name, without commas \
         and quotes"
    )]
    AxisName(String),
    /// A value of the known region that no field takes.
    #[error(
        "known.{0} has no effect: every field that there is has a value of its own, or there is no such field; leave it out"
    )]
    KnownUnused(&'static str),
    /// A known region without a place, or with two.
    #[error(
        "known needs the points that are known: state mask = \"FILE.npy\" if they are the same in every record, or per_record = true if \
         each record comes with its own"
    )]
    KnownWhere,
    /// A mask that is still a file.
    #[error("known.mask names the file {0}: where a problem is kept, its mask is written out")]
    MaskFile(String),
    /// A mask of another grid.
    #[error(
        "known.mask has {got} points, and the grid has {expected}: it must be of the same rows and columns"
    )]
    MaskPoints {
        /// The points of the mask.
        got: u64,
        /// The points of the grid.
        expected: usize,
    },
    /// A mask that knows nothing, or everything.
    #[error("known.mask holds {0} of the grid: expected a part of it")]
    MaskShare(&'static str),
    /// A mask of too many pieces.
    #[error(
        "known.mask is made of more than {0} pieces along the rows: expected a region, not scattered points"
    )]
    MaskPieces(usize),
    /// No value of a field inside the mask.
    #[error("known.mask needs the value that {0} has there: state known.value, or known.a and known.u")]
    KnownValue(&'static str),
}
