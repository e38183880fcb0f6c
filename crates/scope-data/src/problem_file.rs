//! Problem files: a problem of one's own as TOML, with the mask of what is always known beside it.

use std::path::Path;

use scope_pde::{GridShape, MaskSpec, Pde, ProblemSpec};

use crate::{bounded_read::read_bounded_text, error::DataError, npy::MappedArray};

/// The most bytes of a problem file.
const MOST_BYTES: u64 = 1 << 20;
const KIND: &str = "problem file";

/// Reads a problem file and makes its problem known. One that is known already, and the same in every word, is that
/// one.
pub fn read_problem(path: &Path) -> Result<Pde, DataError> {
    let text = read_bounded_text(path, MOST_BYTES)?;
    let refuse = |problem: String| DataError::malformed(path, KIND, problem);
    let mut spec: ProblemSpec = toml::from_str(&text).map_err(|error| refuse(on_its_line(&text, &error)))?;
    let shape = spec.grid.shape();
    if let Some(known) = &mut spec.known
        && let Some(MaskSpec::File(name)) = &known.mask
    {
        let beside = path.parent().unwrap_or(Path::new("")).join(name);
        known.mask = Some(read_mask(&beside, shape)?);
    }
    Pde::of_spec(spec).map_err(|error| refuse(error.to_string()))
}

/// A mask of what is known: a .npy file of the grid's shape that is not zero there.
fn read_mask(path: &Path, shape: GridShape) -> Result<MaskSpec, DataError> {
    let array = MappedArray::open(path)?;
    let got = &array.header().shape;
    if *got != shape.lengths() {
        let problem =
            format!("its shape is {got:?}, expected {:?} as the problem's grid is", shape.lengths());
        return Err(DataError::malformed(path, "mask of a known region", problem));
    }
    let values: Vec<f64> = (0..shape.points()).map(|point| array.at(&shape.place(point))).collect();
    if let Some(point) = values.iter().position(|value| !value.is_finite()) {
        let [row, column] = shape.place(point);
        let problem = format!(
            "it is {} at row {row}, column {column}: expected 0 where the fields are not known, and 1 where they are",
            values[point]
        );
        return Err(DataError::malformed(path, "mask of a known region", problem));
    }
    Ok(MaskSpec::of_points(values.iter().map(|value| *value != 0.0)))
}

/// What the reader of TOML calls the kinds of values, and what people do.
const IN_PLAIN_WORDS: [(&str, &str); 8] = [
    ("expected usize", "expected a whole number, not negative"),
    ("expected f64", "expected a number"),
    ("expected a sequence", "expected a list, as in [0.0, 1.0]"),
    ("wanted string or table", "expected a word in quotes"),
    ("expected a string", "expected a text in quotes"),
    ("expected a boolean", "expected true or false"),
    ("invalid type: sequence", "invalid type: list"),
    (" as i128", ""),
];

/// What is wrong, with the line where it is.
fn on_its_line(text: &str, error: &toml::de::Error) -> String {
    let problem = IN_PLAIN_WORDS
        .iter()
        .fold(error.message().trim_end().to_owned(), |said, (word, plain)| said.replace(word, plain));
    match error.span() {
        Some(span) => {
            let before = text.get(..span.start).unwrap_or(text);
            format!("line {}: {problem}", 1 + before.matches('\n').count())
        }
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::npy::{Dtype, Header};

    const LAKE: &str = "name = \"lake-file\"\n[fields.u]\nname = \"level\"\nunit = \"m\"\n\
                        [grid]\nrows = 32\ncolumns = 40\n[known]\nmask = \"land.npy\"\nvalue = 0.0\n";

    #[test]
    fn a_problem_is_read_with_the_mask_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("problem.toml");
        std::fs::write(&path, LAKE).unwrap();
        let missing = read_problem(&path).unwrap_err().to_string();
        assert!(missing.contains("land.npy"), "{missing}");
        let mut mask = Header::new(Dtype::Bool, &[32, 40]).to_bytes();
        mask.extend((0..32 * 40).map(|point| u8::from(point % 40 < 3)));
        std::fs::write(folder.path().join("land.npy"), &mask).unwrap();
        let pde = read_problem(&path).unwrap();
        assert_eq!(pde.descriptor().shape, Some(GridShape { rows: 32, columns: 40 }));
        assert_eq!(read_problem(&path).unwrap(), pde);
    }

    proptest! {
        /// Whatever stands in a file, it is a problem or a sentence.
        #[test]
        fn no_file_breaks_the_reader(at in 0..LAKE.len(), cut in 0..40_usize, put in "[-a-z0-9=.\"\\[\\]\n ]{0,12}") {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("problem.toml");
            let end = (at + cut).min(LAKE.len());
            std::fs::write(&path, format!("{}{put}{}", &LAKE[..at], &LAKE[end..])).unwrap();
            if let Err(error) = read_problem(&path) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }

    #[test]
    fn faults_are_told_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("problem.toml");
        let refusal = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_problem(&path).unwrap_err().to_string()
        };
        let unknown = refusal(&LAKE.replace("unit", "units"));
        assert!(unknown.contains("problem file: line 4: unknown field `units`"), "{unknown}");
        let broken = refusal("name = heat");
        assert!(broken.contains("line 1"), "{broken}");
        assert!(refusal("").contains("missing field `name`"));
        let negative = refusal(&LAKE.replace("rows = 32", "rows = -32"));
        assert!(
            negative.contains("line 6: invalid value: integer `-32`, expected a whole number"),
            "{negative}"
        );
    }
}
