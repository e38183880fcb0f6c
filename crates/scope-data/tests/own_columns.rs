//! Tables of sensors of a problem of one's own, whose file names its axes and fields.

use scope_data::{
    Channel,
    observation::Place,
    sensors::{SensorFile, TableOptions},
};
use scope_pde::Pde;

/// Columns are called as the problem's file calls axes and fields; what the file names is not guessed.
#[test]
fn tables_of_a_problem_of_one_s_own_are_read_by_its_names() {
    let problem = |name: &str, names: &str, u: &str| -> Pde {
        let text = format!(
            r#"{{"name": "{name}", "fields": {{"a": {{"name": "velocity"}}, "u": {{"name": "{u}"}}}},
                "grid": {{"rows": 32, "columns": 40}}, "domain": {{"names": {names}}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    };
    let on_the_globe =
        TableOptions::default().of_problem(problem("globe", r#"["lat", "lon"]"#, "head (top)"));
    let places = |header: &str, options: &TableOptions| {
        let file =
            SensorFile::parse_with("gauges".into(), format!("{header}\n1,2,3\n").into_bytes(), options);
        let file = file.map_err(|error| error.to_string())?;
        let sensor = file.set(0).unwrap().sensors[0];
        Ok::<_, String>((sensor.place, sensor.channel))
    };
    let (first, swapped) = (Place::Point(1.0, 2.0), Place::Point(2.0, 1.0));
    for (header, place, channel) in [
        ("lat,lon,u", first, Channel::U),
        ("Lon [deg],Lat [deg],Velocity (m/s)", swapped, Channel::A),
        ("lat,lon,head_(top)", first, Channel::U),
        ("x,y,Head (top) [m]", first, Channel::U),
    ] {
        assert_eq!(places(header, &on_the_globe), Ok((place, channel)), "{header}");
    }
    for header in ["latitude,longitude,u", "easting,northing,u"] {
        let refusal = places(header, &on_the_globe).unwrap_err();
        assert!(refusal.contains("expected lat and lon (coordinates of the problem's domain)"), "{refusal}");
    }
    let refusal = places("lat,lon,pressure", &on_the_globe).unwrap_err();
    assert!(refusal.contains("under velocity and head_(top), as in lat,lon,head_(top)"), "{refusal}");
    let unnamed = TableOptions::default().of_problem(problem("unnamed", r#"["x", "y"]"#, "level, m"));
    assert_eq!(places("lon,lat,u", &unnamed), Ok((first, Channel::U)), "axes that the file does not name");
    let refusal = places("x,y,level", &unnamed).unwrap_err();
    assert!(
        refusal.contains("under a and u, as in x,y,u"),
        "a comma cannot stand in a column's name: {refusal}"
    );
}

/// The records lie on just the grid whose axes are called so; values are not converted, and that is said.
#[test]
fn angles_of_the_problem_s_own_axes_need_no_note_and_other_units_do() {
    let text = r#"{"name": "sea", "fields": {"u": {"name": "temperature", "unit": "degC"}}, "grid": {"rows": 32, "columns": 40},
        "domain": {"x": [30, 50], "y": [-20, 12], "unit": "deg", "names": ["lat", "lon"]}}"#;
    let pde: Pde = serde_json::from_str(text).unwrap();
    let notes = |header: &str, options: &TableOptions| {
        let bytes = format!("{header}\n41,2,288.5\n").into_bytes();
        SensorFile::parse_with("buoys".into(), bytes, options).unwrap().notes().to_vec()
    };
    let own = TableOptions::default().of_problem(pde);
    for header in ["lat,lon,temperature", "lat (deg),lon [Deg],temperature (degc)", "lat,lon,u"] {
        assert!(notes(header, &own).is_empty(), "{header}: {:?}", notes(header, &own));
    }
    let said = notes("lat,lon,temperature (K)", &own);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("names the unit K, and the problem has degC there"), "{said:?}");
    let said = notes("lat,lon,u", &TableOptions::default());
    assert!(said[0].contains("project them first"), "{said:?}");
}
