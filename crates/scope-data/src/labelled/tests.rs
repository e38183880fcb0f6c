//! The bytes of small files. The Python package's tests open such files with xarray and pyvista.

use super::*;

fn small() -> LabelledArrays<'static> {
    let coordinates = |name: &str, dimension, places: &[f64]| Variable {
        name: name.to_owned(),
        dimensions: vec![dimension],
        values: Values::Double(places.to_vec()),
        attributes: vec![],
    };
    let field = Variable {
        name: "u".to_owned(),
        dimensions: vec![0, 1],
        values: Values::Single(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into()),
        attributes: vec![("units", "Pa".to_owned())],
    };
    let channel = Variable {
        name: "sensor_channel".to_owned(),
        dimensions: vec![2],
        values: Values::Bytes(vec![1]),
        attributes: vec![],
    };
    LabelledArrays {
        dimensions: vec![("x", 2), ("y", 3), ("sensor", 1)],
        variables: vec![
            coordinates("x", 0, &[0.0, 0.5]),
            coordinates("y", 1, &[1.0, 2.0, 3.0]),
            field,
            channel,
        ],
        attributes: vec![("title", "test".to_owned())],
    }
}

fn find(file: &[u8], part: &[u8]) -> Option<usize> {
    file.windows(part.len()).position(|window| window == part)
}

#[test]
fn netcdf_says_where_its_arrays_are() {
    let file = LabelledFormat::Netcdf.bytes(&small()).unwrap();
    assert_eq!(file[..12], *b"CDF\x02\0\0\0\0\0\0\0\x0a");
    assert_eq!(file.len() % 4, 0);
    // u: float, 24 bytes, and its place.
    let described = find(&file, b"\0\0\0\x01u\0\0\0").unwrap();
    let units = [&b"\0\0\0\x0c\0\0\0\x01\0\0\0\x05units\0\0\0\0\0\0\x02\0\0\0\x02Pa\0\0"[..]].concat();
    let rest = &file[described + 8 + 12..];
    assert_eq!(rest[..units.len()], units);
    let rest = &rest[units.len()..];
    assert_eq!(rest[..8], *b"\0\0\0\x05\0\0\0\x18");
    let begin = u64::from_be_bytes(rest[8..16].try_into().unwrap()) as usize;
    let expected: Vec<u8> = (1..=6_u8).flat_map(|k| f32::from(k).to_be_bytes()).collect();
    assert_eq!(file[begin..begin + 24], expected);
}

#[test]
fn zarr_has_a_chunk_for_each_array() {
    let file = LabelledFormat::Zarr.bytes(&small()).unwrap();
    let numbers: Vec<u8> = (1..=6_u8).flat_map(|k| f32::from(k).to_le_bytes()).collect();
    for part in [&b"u/0.0"[..], &numbers, b"\"_ARRAY_DIMENSIONS\"", b".zmetadata", b"sensor_channel/0"] {
        assert!(find(&file, part).is_some(), "{}", String::from_utf8_lossy(part));
    }
}

#[test]
fn an_image_turns_its_fields_and_knows_where_they_are() {
    let file = LabelledFormat::Vti.bytes(&small()).unwrap();
    let head = r#"WholeExtent="0 1 0 2 0 0" Origin="0 1 0" Spacing="0.5 1 1""#;
    assert!(find(&file, head.as_bytes()).is_some());
    let turned: Vec<u8> = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0_f32].iter().flat_map(|x| x.to_le_bytes()).collect();
    let begin = find(&file, b"\n_").unwrap() + 2;
    assert_eq!(file[begin..begin + 8], 24_u64.to_le_bytes());
    assert_eq!(file[begin + 8..begin + 32], turned);
    let without = LabelledArrays { variables: vec![], ..small() };
    assert!(LabelledFormat::Vti.bytes(&without).is_err());
}
