//! A graph as the bytes of an ONNX file. The numbers of fields are those of onnx.proto
//! (<https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>).

use scope_data::Channel;
use scope_model::About;

use crate::{
    OPSET,
    graph::{Attribute, Graph, Initialiser, Node, Numbers},
    protobuf::Message,
};

/// The version of the file's layout that has this version of the operators.
const IR_VERSION: i64 = 9;
/// Kinds of numbers.
const FLOAT: i64 = 1;
const INT64: i64 = 7;
const DOUBLE: i64 = 11;

/// A model: the graph, who wrote it, and what it is of.
pub(crate) fn model(graph: &Graph, about: &About) -> Vec<u8> {
    let operators = Message::default().bytes(1, "").integer(2, OPSET as i64);
    let [a, u] = Channel::BOTH.map(|channel| about.pde.descriptor().fields[channel].name);
    let described = format!(
        "Sparse readings to complete fields. readings and mask [batch, 2, rows, columns]: a ({a}) before u ({u}), in \
         physical units, the mask 1 where a pixel is measured and 0 elsewhere; fields: both complete, of the same \
         shape."
    );
    let facts = [("problem", about.pde.name().to_owned()), ("architecture", about.config.name().to_owned())];
    let fact = |message: Message, (key, value): (&str, String)| {
        message.message(14, Message::default().bytes(1, key).bytes(2, value))
    };
    Message::default()
        .integer(1, IR_VERSION)
        .bytes(2, "scope")
        .bytes(3, env!("CARGO_PKG_VERSION"))
        .bytes(6, described)
        .message(7, encoded(graph))
        .message(8, operators)
        .each(facts, fact)
        .finish()
}

fn encoded(graph: &Graph) -> Message {
    let image = |name: &str| Message::default().bytes(1, name).message(2, image_type(graph.grid));
    Message::default()
        .each(graph.nodes(), |message, one| message.message(1, node(one)))
        .bytes(2, "scope")
        .each(graph.initialisers(), |message, one| message.message(5, tensor(one)))
        .each([Graph::READINGS, Graph::MASK], |message, name| message.message(11, image(name)))
        .message(12, image(Graph::FIELDS))
}

/// Single precision \[batch, 2, rows, columns\], of any batch.
fn image_type([rows, columns]: [usize; 2]) -> Message {
    let fixed = |length: usize| Message::default().integer(1, length as i64);
    let shape = Message::default()
        .message(1, Message::default().bytes(2, "batch"))
        .each([2, rows, columns], |message, length| message.message(1, fixed(length)));
    Message::default().message(1, Message::default().integer(1, FLOAT).message(2, shape))
}

fn node(node: &Node) -> Message {
    let name = node.outputs.first().map_or("", String::as_str);
    Message::default()
        .each(&node.inputs, |message, name| message.bytes(1, name))
        .each(&node.outputs, |message, name| message.bytes(2, name))
        .bytes(3, name)
        .bytes(4, node.operator)
        .each(&node.attributes, |message, (name, value)| message.message(5, attribute(name, value)))
}

fn attribute(name: &str, value: &Attribute) -> Message {
    let message = Message::default().bytes(1, name);
    match value {
        Attribute::Float(value) => message.float(2, *value).integer(20, 1),
        Attribute::Integer(value) => message.integer(3, *value).integer(20, 2),
        Attribute::Integers(values) => {
            message.each(values, |message, value| message.integer(8, *value)).integer(20, 7)
        }
    }
}

fn tensor(Initialiser { name, shape, numbers }: &Initialiser) -> Message {
    let (kind, bytes): (i64, Vec<u8>) = match numbers {
        Numbers::F32(values) => (FLOAT, values.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Numbers::F64(values) => (DOUBLE, values.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Numbers::I64(values) => (INT64, values.iter().flat_map(|x| x.to_le_bytes()).collect()),
    };
    Message::default()
        .each(shape, |message, length| message.integer(1, *length as i64))
        .integer(2, kind)
        .bytes(8, name)
        .bytes(9, bytes)
}
