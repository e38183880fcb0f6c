//! Files as people have them.

use std::fmt::Write;

/// A file and what is special about it.
pub(crate) struct Case {
    pub(crate) what: &'static str,
    pub(crate) file: &'static str,
    /// None if the file is not written.
    pub(crate) content: Option<Vec<u8>>,
}

/// Forty sensors of u under a header, with lines of one's own at the end.
fn table(more: &str) -> Vec<u8> {
    let mut text = String::from("x,y,channel,value\n");
    for k in 0..40 {
        let (x, y) = (f64::from(k % 8) / 8.0, f64::from(k / 8) / 5.0);
        writeln!(text, "{x},{y},u,{}", 0.004 * (6.0 * x).sin() * y).unwrap();
    }
    text.push_str(more);
    text.into_bytes()
}

fn replaced(from: &str, to: &str) -> Vec<u8> {
    String::from_utf8(table("")).unwrap().replace(from, to).into_bytes()
}

/// A numpy array of zeros.
fn npy(descr: &str, shape: &str, bytes: usize) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(header.len() as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.resize(file.len() + bytes, 0);
    file
}

fn million_rows() -> Vec<u8> {
    let mut text = String::from("i,j,u\n");
    for k in 0..1_000_000 {
        writeln!(text, "{},{},0.00{}", k % 32, k / 32 % 32, 1 + k % 2).unwrap();
    }
    text.into_bytes()
}

/// The cases, in the order of `answers.txt`.
pub(crate) fn all() -> Vec<Case> {
    let case = |what, file, content| Case { what, file, content: Some(content) };
    let text = |what, text: &str| Case { what, file: "sensors.csv", content: Some(text.as_bytes().to_vec()) };
    let good = String::from_utf8(table("")).unwrap();
    vec![
        case("a plain table", "plain.csv", table("")),
        case("a byte-order mark", "bom.csv", [b"\xef\xbb\xbf", good.as_bytes()].concat()),
        case("Windows line ends", "crlf.csv", replaced("\n", "\r\n")),
        case("semicolons", "semicolons.csv", replaced(",", ";")),
        case(
            "semicolons and decimal commas",
            "german.csv",
            good.replace(',', ";").replace('.', ",").into_bytes(),
        ),
        case("tabs", "tabs.tsv", replaced(",", "\t")),
        case("spaces", "spaces.txt", replaced(",", "  ")),
        case("a million rows", "million.csv", million_rows()),
        case("the same row twice", "twice.csv", table("0,0,u,0\n")),
        case("columns of no use", "wide.csv", b"station,x,y,u,unit\nS1,0.5,0.5,0.001,m\n".to_vec()),
        text("values far outside the training data", "x,y,u\n0.5,0.5,3.5\n"),
        text("nothing", ""),
        text("blank lines only", "\n\n  \n"),
        text("a header only", "x,y,channel,value\n"),
        text("one column", "0.5\n0.25\n"),
        text("three columns without a header", "0.5,0.25,0.001\n"),
        text("no channel", "x,y,value\n0.5,0.25,0.001\n"),
        text("no place", "u,a\n0.5,0.25\n"),
        text("no values", "x,y,station\n0.5,0.25,1\n"),
        text("a channel beside values", "x,y,channel,u\n0.5,0.25,a,0.001\n"),
        text("two columns of one name", "x,y,u,U\n0.5,0.25,1,2\n"),
        text("text among numbers", "x,y,u\n0.5,0.25,high\n"),
        text("units among numbers", "x,y,u\n0.5,0.25,0.001 m\n"),
        text("thousands separators", "x;y;u\n0.5;0.25;1,234.5\n"),
        text("not a number", "x,y,channel,value\n0.5,0.25,u,nan\n"),
        text("infinity", "x,y,u\n0.5,inf,0.001\n"),
        text("a value beyond single precision", "x,y,u\n0.5,0.25,1e300\n"),
        text("a value that overflows once it is scaled", "x,y,u\n0.5,0.25,1e38\n"),
        text("an empty cell", "x,y,channel,value\n0.5,0.25,u,\n"),
        text("a row too short", "x,y,u\n0.5,0.25\n"),
        text("decimal commas between commas", "x,y,u\n0,5,0,25,0,001\n"),
        text("an unknown channel", "x,y,channel,value\n0.5,0.25,p,0.001\n"),
        text("a point outside", "x,y,u\n0.5,0.25,0.001\n1.5,0.25,0.001\n"),
        text("pixels called x and y", "x,y,u\n12,25,0.001\n"),
        text("a pixel outside", "i,j,u\n3,3,0.001\n32,0,0.001\n"),
        text("a fractional pixel", "i,j,u\n3.5,3,0.001\n"),
        text("a negative pixel", "i,j,u\n-1,3,0.001\n"),
        text("pixels or points", "0,1,u,0.001\n1,1,u,0.001\n"),
        text("a contradiction", "x,y,u\n0.5,0.5,0.001\n0.25,0.5,0.002\n0.501,0.5,0.02\n"),
        text("JSON cut short", "[{\"x\": 0.5, \"y\": 0.5,\n \"channel\": \"u\", \"value\": 0.00"),
        text("JSON with NaN", "[{\"x\": 0.5, \"y\": 0.5, \"channel\": \"u\", \"value\": NaN}]"),
        text("JSON with an unknown key", "[{\"x\": 0.5, \"z\": 0.5, \"channel\": \"u\", \"value\": 1}]"),
        text("JSON without a place", "{\"sensors\": [{\"x\": 0.5, \"channel\": \"u\", \"value\": 1}]}"),
        text(
            "JSON with an empty problem",
            "{\"problems\": [{\"name\": \"dry\", \"sensors\": []}, {\"sensors\": [{\"i\":1,\"j\":1,\"channel\":\"u\",\"value\":0}]}]}",
        ),
        case("Latin-1 text", "latin1.csv", b"x,y,u\n0.5,0.5,0.001\n0.5,0.5,\xb5\n".to_vec()),
        case("UTF-16 text", "utf16.csv", b"\xff\xfex\x00,\x00y\x00".to_vec()),
        case("binary noise", "noise.bin", b"\x01\x02\x00\x03 noise".to_vec()),
        case("a compressed file", "sensors.csv.gz", b"\x1f\x8b\x08\x00".to_vec()),
        case("a damaged archive", "cut.npz", b"PK\x03\x04 and no more".to_vec()),
        case("an array of another shape", "flat.npy", npy("<f4", "(3, 7)", 84)),
        case("an array of another grid", "other.npy", npy("<f4", "(2, 16, 16)", 2048)),
        case("an array cut short", "short.npy", npy("<f4", "(2, 32, 32)", 100)),
        case("an array with gigantic sizes", "huge.npy", npy("<f8", "(4611686018427387904, 2, 32, 32)", 8)),
        Case { what: "no such file", file: "missing.csv", content: None },
        Case { what: "a folder", file: "folder", content: None },
    ]
}
