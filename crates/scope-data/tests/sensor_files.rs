//! Files of measurements: every dialect gives the same sensors, every fault its line and its remedy, and no bytes
//! make the readers panic or take much memory. The command's own messages are in `crates/scope-cli/tests`.

use std::path::Path;

use proptest::prelude::*;
use scope_data::{
    Channel, RecordRegion,
    npy::{Dtype, Header},
    observation::{Place, Sensor},
    sensors::{ColumnNames, MissingMarks, PointFile, SensorFile, SensorSet, TableOptions},
};

fn read(text: &str) -> SensorFile {
    SensorFile::parse("sensors".into(), text.as_bytes().to_vec()).unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    SensorFile::parse("sensors".into(), bytes.to_vec()).map(|_| ()).unwrap_err().to_string()
}

fn sensors(file: &SensorFile, index: usize) -> Vec<Sensor> {
    file.set(index).unwrap().sensors.clone()
}

fn at(x: f64, y: f64, channel: Channel, value: f64) -> Sensor {
    Sensor { channel, place: Place::Point(x, y), value }
}

fn fixture(name: &str) -> SensorFile {
    SensorFile::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

#[test]
fn every_dialect_gives_the_same_sensors() {
    let expected = vec![at(0.25, 0.5, Channel::U, -0.0125), at(1.0, 0.0, Channel::A, 3e-2)];
    let dialects = [
        "x,y,channel,value\n0.25,0.5,u,-0.0125\n1,0,a,3e-2\n",
        "\u{feff}x,y,channel,value\r\n0.25,0.5,u,-0.0125\r\n1,0,a,3e-2\r\n",
        "X;Y;Channel;Value\n0,25;0,5;U;-0,0125\n1;0;A;3e-2",
        "\"x\",\"y\",\"channel\",\"value\"\n\"0,25\",\"0,5\",\"u\",\"-0,0125\"\n1,0,a,0.03",
        "x\ty\tfield\tvalue\n0.25\t0.5\tu\t-0.0125\n1\t0\ta\t0.03\n\n\n",
        "x\ty\tu\ta\r\n0.25\t0.5\t-0.0125\t\r\n1\t0\t\t0.03\r\n",
        "a\tu\tx\ty\n\t-0.0125\t0.25\t0.5\n0.03\t\t1\t0\n",
        "x\ty\tchannel\tvalue\t\n0.25\t0.5\tu\t-0.0125\t\n1\t0\ta\t0.03\t\n\t\t\n",
        "\tx\ty\tchannel\tvalue\n0\t0.25\t0.5\tu\t-0.0125\n1\t1\t0\ta\t0.03\n",
        "\tx,y,channel,value\n\t0.25,0.5,u,-0.0125\n\t1,0,a,0.03\n\t# the end\n",
        "  x   y channel value\n 0.25  0.5 u  -1.25e-2\n 1 0 a .03\n",
        "\u{feff}sep=;\r\nx;y;channel;value\r\n0,25;0,5;u;-0,0125\r\n1;0;a;0,03\r\n",
        "SEP=,\nx,y,channel,value,\"a;b\"\n0.25,0.5,u,-0.0125,1\n1,0,a,0.03,2\n",
        "sep=\t\r\nx\ty\tchannel\tvalue\r\n0.25\t0.5\tu\t-0.0125\r\n1\t0\ta\t0.03\r\n",
        "\"sep=|\"\nx|y|channel|value\n0.25|0.5|u|-0.0125\n1|0|a|0.03\n",
        "value channel y x\n-0.0125 u 0.5 0.25\n0.03 a 0 1",
        "0.25,0.5,u,-0.0125\n1,0,a,0.03",
        "# made by hand\n\n0.25 0.5 u -0.0125\n# a comment\n1 0 a 0.03",
        "# x y channel value\n0.25 0.5 u -0.0125\n1 0 a 0.03",
        "x,y,channel,value,\n0.25,0.5,u,-0.0125,\n1,0,a,0.03,\n",
        "x,y,u,a\n0.25,0.5,-0.0125,\n1,0,,0.03\n",
        "x,y,channel,value\r0.25,0.5,u,-0.0125\r1,0,a,3e-2",
        r#"[{"x":0.25,"y":0.5,"channel":"u","value":-0.0125}, {"x":1,"y":0,"channel":"a","value":0.03}]"#,
        r#"{"sensors": [{"x":0.25,"y":0.5,"channel":"u","value":-0.0125}, {"x":1,"y":0,"channel":"a","value":0.03}]}"#,
    ];
    for dialect in dialects {
        let file = read(dialect);
        assert_eq!((file.len(), file.resolution()), (1, None), "{dialect}");
        assert_eq!(sensors(&file, 0), expected, "{dialect}");
    }
}

#[test]
fn a_line_that_states_the_separator_counts_as_a_line() {
    let told = refusal(b"sep=;\nx;y;u\n0,5;0,5;high\n");
    assert!(told.starts_with("sensors, line 3: u is \"high\""), "{told}");
    assert!(refusal(b"sep=;\n").contains("has no measurements"));
}

#[test]
fn whole_numbers_without_a_header_are_pixels() {
    let file = read("0,127,u,1.5\n3,4,u,2\n");
    let pixel = |i, j, value| Sensor { channel: Channel::U, place: Place::Index(i, j), value };
    assert_eq!(sensors(&file, 0), [pixel(0, 127, 1.5), pixel(3, 4, 2.0)]);
    assert_eq!(file.notes(), ["coordinates are whole numbers, so they are read as pixels (i, j)"]);
    let named = read("row,col,u\n0,127,1.5\n3.0,4.0,2\n");
    assert_eq!((sensors(&named, 0), named.notes().len()), (sensors(&file, 0), 0));
    let both = refusal(b"0,1,u,2\n1,1,u,2\n");
    assert!(both.contains("may mean pixels or points"), "{both}");
}

#[test]
fn nan_under_a_or_u_was_not_measured() {
    let file = read("x y a u\n0.25 0.5 nan -0.0125\n1 0 3e-2 NaN\n0 0 nan nan\n");
    assert_eq!(sensors(&file, 0), [at(0.25, 0.5, Channel::U, -0.0125), at(1.0, 0.0, Channel::A, 3e-2)]);
    let told = refusal(b"x,y,a,u\n0.1,0.2,-inf,1\n");
    assert!(told.ends_with(
        "a is -inf: every number must be finite; leave the cell empty where nothing was measured"
    ));
    for row in ["0.1,nan,u,1", "0.1,0.2,u,nan"] {
        let told = refusal(format!("x,y,channel,value\n{row}\n").as_bytes());
        assert!(told.ends_with("every number must be finite; remove the row of a sensor that gave no value"));
    }
    assert!(refusal(b"x,y,u\n0.1,0.2,nan\n").contains("has no measurements"));
}

#[test]
fn values_beyond_single_precision_are_refused_where_they_stand() {
    let told =
        "1e300: fields are stored in single precision, which ends at 3.4028235e38; are the units right?";
    let refused = |bytes: &[u8]| refusal(bytes).strip_suffix(told).map(str::to_owned);
    assert_eq!(refused(b"x,y,u\n0.1,0.2,3\n0.1,0.2,1e300\n").as_deref(), Some("sensors, line 3: u is "));
    let long = refused(b"x,y,channel,value\n0.1,0.2,a,1e300\n");
    assert_eq!(long.as_deref(), Some("sensors, line 2: value is "));
    let json = refused(br#"[{"x":0.25,"y":0.5,"channel":"u","value":1e300}]"#);
    assert_eq!(json.as_deref(), Some("sensors, sensor 1: value is "));
    assert!(refusal(b"x,y,u\n0.1,0.2,-3.5e38\n").contains("u is -3.5e38: fields are stored"));
    assert_eq!(sensors(&read("x,y,u\n0,1,-3.4e38\n"), 0), [at(0.0, 1.0, Channel::U, -3.4e38)]);
    let mut array = Header::new(Dtype::F64, &[2, 1, 1]).to_bytes();
    array.extend([f64::NAN, 1e300].iter().flat_map(|value| value.to_le_bytes()));
    let file = SensorFile::parse("sensors".into(), array).unwrap();
    let error = file.set(0).unwrap_err().to_string();
    assert_eq!(error.strip_suffix(told), Some("sensors: problem 1, u at (0, 0) is "));
}

#[test]
fn many_problems_keep_their_names_and_order() {
    let file = read("record,x,y,u,station\nlate,0.1,0.2,1,S1\nearly,0.3,0.4,2,S2\nlate,0.5,0.6,3,S3\n");
    assert_eq!(file.len(), 2);
    let [late, early] = [file.set(0).unwrap(), file.set(1).unwrap()];
    assert_eq!((late.name.as_str(), early.name.as_str()), ("late", "early"));
    assert_eq!((late.sensors.len(), early.sensors.len()), (2, 1));
    assert_eq!(file.notes(), ["columns that are not used: station"]);
    let json = read(
        r#"{"problems": [{"sensors": [{"i":1,"j":2,"channel":"a","value":3}]},
            {"name": "second", "geometry": [40, 60.5, 10], "sensors": []}]}"#,
    );
    let second = json.set(1).unwrap();
    assert_eq!((json.set(0).unwrap().name.as_str(), second.name.as_str()), ("1", "second"));
    assert_eq!(second.region.as_ref().and_then(RecordRegion::disk).map(|disk| disk.cy), Some(60.5));
}

#[test]
fn nothing_at_the_top_of_a_json_document_is_lost() {
    let sensors = r#""sensors": [{"i":1,"j":2,"channel":"a","value":3}]"#;
    let file = read(&format!(
        r#"{{"problems": [{{{sensors}}}, {{"geometry": [30, 31, 5], {sensors}}}], "geometry": [40, 64, 10]}}"#
    ));
    let radius =
        |index| file.set(index).unwrap().region.as_ref().and_then(RecordRegion::disk).map(|disk| disk.r);
    assert_eq!((radius(0), radius(1)), (Some(10.0), Some(5.0)));
    let told = refusal(format!(r#"{{"name": "run 7", "problems": [{{{sensors}}}]}}"#).as_bytes());
    assert_eq!(told, "sensors: \"name\" stands beside \"problems\": give each problem a name of its own");
    let told = refusal(format!(r#"{{"problems": [{{{sensors}}}], "units": "m"}}"#).as_bytes());
    assert!(told.contains("line 1: unknown field `units`, expected one of `problems`"), "{told}");
}

#[test]
fn faults_among_several_problems_name_theirs() {
    let faulty = r#"{"sensors": [{"i":1,"j":2,"channel":"a","value":3}, {"i":1,"channel":"a","value":3}]}"#;
    let told = refusal(format!(r#"{{"problems": [{faulty}]}}"#).as_bytes());
    assert_eq!(told, "sensors, sensor 2: expected either x and y, or i and j");
    let told = refusal(format!(r#"{{"problems": [{{"sensors": []}}, {faulty}]}}"#).as_bytes());
    assert_eq!(told, "sensors, problem 2, sensor 2: expected either x and y, or i and j");
    let named = faulty.replacen('{', r#"{"name": "run 7", "#, 1);
    let told = refusal(format!(r#"{{"problems": [{named}, {faulty}]}}"#).as_bytes());
    assert_eq!(told, "sensors, problem run 7, sensor 2: expected either x and y, or i and j");
}

#[test]
fn no_column_is_passed_over_without_a_word() {
    let notes = |text: &str| read(text).notes().to_vec();
    assert_eq!(notes("x,y,i,u\n0.1,0.2,3,1\n"), ["columns that are not used: i"]);
    assert_eq!(notes("i,j,y,note,u\n1,2,0.5,wet,1\n"), ["columns that are not used: y, note"]);
    assert_eq!(
        notes(",x,y,u\n0,0.1,0.2,1\n"),
        ["columns that are not used: the one without a name (number 1)"]
    );
    assert!(notes("problem,x,y,a,u\np,0.1,0.2,1,2\n").is_empty());
    let told = refusal(b"x,y,channel,u\n0.1,0.2,a,0.001\n");
    assert_eq!(
        told,
        "sensors, line 1: the header has both \"channel\" and \"u\": keep one of them, or state which one is meant"
    );
}

fn options(columns: &str, missing: &str) -> TableOptions {
    let columns = if columns.is_empty() { ColumnNames::default() } else { columns.parse().unwrap() };
    let missing = if missing.is_empty() { MissingMarks::default() } else { missing.parse().unwrap() };
    TableOptions { columns, missing }
}

fn read_with(text: &str, options: &TableOptions) -> Result<SensorFile, String> {
    SensorFile::parse_with("sensors".into(), text.as_bytes().to_vec(), options)
        .map_err(|error| error.to_string())
}

#[test]
fn names_that_people_type_are_understood() {
    let expected = [at(0.1, 0.2, Channel::U, 3.0)];
    for header in ["x [m],y [m],u (K)", "X,Y,Head", "lon,lat,pressure", "Easting,Northing,potential [V]"] {
        assert_eq!(sensors(&read(&format!("{header}\n0.1,0.2,3\n")), 0), expected, "{header}");
    }
    assert_eq!(sensors(&read("x,y,source\n0.1,0.2,3\n"), 0), [at(0.1, 0.2, Channel::A, 3.0)]);
    let told = refusal(b"x,y,Head,u (K)\n0.1,0.2,3,4\n");
    assert!(told.contains("both \"Head\" and \"u (K)\""), "{told}");
    assert!(read("lon,lat,u\n0.1,0.2,3\n").notes()[0].contains("project them first"));
}

#[test]
fn columns_are_what_they_are_stated_to_be() {
    let stated = options("x=East,y=north,u=level", "");
    let text = "id,x,east,North [m],level (m)\n7,9,0.1,0.2,3\n";
    let file = read_with(text, &stated).unwrap();
    assert_eq!(sensors(&file, 0), [at(0.1, 0.2, Channel::U, 3.0)]);
    assert_eq!(file.notes(), ["columns that are not used: id, x"]);
    let told = read_with("x,y,u\n0.1,0.2,3\n", &stated).map(|_| ()).unwrap_err();
    assert_eq!(told, "sensors, line 1: no column is called \"East\": the header has x, y, u");
    let told = read_with("0.1,0.2,u,3\n", &stated).map(|_| ()).unwrap_err();
    assert!(told.contains("the table has no header"), "{told}");
    let told = read_with("[{\"x\": 0.1}]", &stated).map(|_| ()).unwrap_err();
    assert!(told.contains("this is none"), "{told}");
}

#[test]
fn readings_that_are_marked_as_missing_are_none() {
    let text = "x,y,a,u\n0.1,0.2,na,3\n0.3,0.4,5,-9999.0\n0.5,0.6,NA,-9999\n";
    let file = read_with(text, &options("", "NA,-9999")).unwrap();
    assert_eq!(sensors(&file, 0), [at(0.1, 0.2, Channel::U, 3.0), at(0.3, 0.4, Channel::A, 5.0)]);
    assert_eq!(file.notes(), ["4 readings are marked as missing"]);
    let long = "x,y,channel,value\n0.1,0.2,u,NA\n0.3,0.4,u,1\n";
    assert_eq!(sensors(&read_with(long, &options("", "NA")).unwrap(), 0).len(), 1);
    assert!(refusal(text.as_bytes()).contains("a is \"na\", expected a number"));
}

#[test]
fn points_are_read_as_sensors_are() {
    let parse = |text: &str, columns: &str| {
        PointFile::parse("points".into(), text.as_bytes(), &options(columns, ""))
            .map_err(|error| error.to_string())
    };
    let file = parse("name;X [m];Y [m]\nwell;0,5;0,25\n\nspring;1;0\n", "").unwrap();
    assert_eq!(file.points, [Place::Point(0.5, 0.25), Place::Point(1.0, 0.0)]);
    assert_eq!(file.lines, [2, 4]);
    assert_eq!(parse("0.5,0.25\n", "").unwrap().points, [Place::Point(0.5, 0.25)]);
    assert_eq!(parse("i,j\n3,4\n", "").unwrap().points, [Place::Index(3, 4)]);
    // The same names serve sensors and points, though points have no values.
    assert_eq!(parse("e,n\n1,2\n", "x=e,y=n,u=level").unwrap().points, [Place::Point(1.0, 2.0)]);
    assert_eq!(
        parse("x,y\n", "").unwrap_err(),
        "points has no points: expected a row for each after the header"
    );
    assert!(parse("x,y\n1,inf\n", "").unwrap_err().contains("line 2: y is inf"));
}

#[test]
fn errors_of_placing_are_told_by_line() {
    let set = read("x,y,u\n\n0.1,0.1,1\n7.5,0.1,1\n").set(0).unwrap().into_owned();
    let error = scope_data::observation::UserContext::new(
        scope_pde::Pde::POISSON,
        &scope_data::Constants::released(scope_pde::Pde::POISSON),
        32,
        &set.sensors,
        None,
    );
    let told = set.explain(&error.unwrap_err());
    assert!(told.starts_with("line 4: (7.5, 0.1) lies outside the unit square"), "{told}");
}

/// `make.py` wrote them with numpy: problem p has a = 100 p + 10 i + j at (i, j) = (1, 2) and u = -a at (3, 0).
#[test]
fn numpy_s_own_files_are_read() {
    let expected = |problem: usize| {
        let value = 100.0 * problem as f64;
        let pixel = |channel, i, j, value| Sensor { channel, place: Place::Index(i, j), value };
        vec![pixel(Channel::A, 1, 2, value + 12.0), pixel(Channel::U, 3, 0, -value - 30.0)]
    };
    for name in ["nan.npy", "contexts.npy", "masked.npz", "packed.npz", "fortran.npz"] {
        let file = fixture(&format!("sensors/{name}"));
        assert_eq!((file.len(), file.resolution()), (3, Some(4.into())), "{name}");
        for problem in 0..3 {
            assert_eq!(sensors(&file, problem), expected(problem), "{name}");
        }
    }
    let one = fixture("sensors/single.npz");
    assert_eq!(one.set(0).unwrap().label(1), "u at (3, 0)");
    assert_eq!((one.len(), sensors(&one, 0)), (1, expected(0)));
    assert_eq!(
        one.set(0)
            .unwrap()
            .region
            .as_ref()
            .and_then(RecordRegion::disk)
            .map(|disk| (disk.cx, disk.cy, disk.r)),
        Some((1.5, 2.0, 1.0))
    );
}

#[test]
fn damaged_archives_are_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sensors/packed.npz");
    let whole = std::fs::read(path).unwrap();
    for cut in (4..whole.len()).step_by(7) {
        refusal(&whole[..cut]);
    }
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        refused += usize::from(SensorFile::parse("x".into(), damaged).is_err());
    }
    assert!(refused > whole.len() / 2, "{refused} of {}", whole.len());
}

proptest! {
    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec((0.0..=1.0, 0.0..=1.0, any::<bool>(), -1e6..1e6), 1..40)) {
        let mut text = String::from("x;y;channel;value\n");
        let mut expected = Vec::new();
        for (x, y, response, value) in rows {
            let channel = if response { Channel::U } else { Channel::A };
            text.push_str(&format!("{x};{y};{};{value}\n", channel.name()).replace('.', ","));
            expected.push(at(x, y, channel, value));
        }
        prop_assert_eq!(sensors(&read(&text), 0), expected);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..5_usize) {
        let start: &[u8] = [&b""[..], b"x,y,u\n", b"[{\"x\":", b"PK\x03\x04", b"\x93NUMPY\x01\x00"][kind];
        let file = SensorFile::parse("noise".into(), [start, &bytes].concat());
        if let Ok(file) = file {
            for index in 0..file.len() {
                let _: Result<std::borrow::Cow<SensorSet>, _> = file.set(index);
            }
        }
    }

    /// Whatever columns are called, naming them finds them, in any order.
    #[test]
    fn named_columns_are_found(names in prop::collection::hash_set("[a-z]{3,8}", 3), order in 0..3_usize) {
        let mut names: Vec<String> = names.into_iter().collect();
        names.rotate_left(order);
        let stated = format!("x={},y={}, u = {}", names[2].to_uppercase(), names[0], names[1]);
        let text = format!("{}\n0.5,3,0.25\n", names.join(","));
        let file = read_with(&text, &options(&stated, "")).unwrap();
        prop_assert_eq!(sensors(&file, 0), [at(0.25, 0.5, Channel::U, 3.0)]);
    }

    #[test]
    fn no_option_panics(text in "([xyau=, -9.]|NA|lon|channel){0,30}", table in "([xyu,;0-9.\n-]|NA|lon){0,60}") {
        let columns = text.parse().unwrap_or_default();
        let missing = text.parse().unwrap_or_default();
        let options = TableOptions { columns, missing };
        let _ = read_with(&table, &options);
        let _ = PointFile::parse("noise".into(), table.as_bytes(), &options);
    }

    #[test]
    fn no_table_panics(text in "([xyiju0-9.,; \t\r\n#\"e-]|value|channel|nan|a){0,80}") {
        let _ = SensorFile::parse("noise".into(), text.into_bytes());
    }
}
