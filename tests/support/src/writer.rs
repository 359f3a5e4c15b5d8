//! Model files built in memory: SafeTensors, and GGUF, also invalid.

use roofline_models::Dtype;

/// A metadata value.
#[derive(Clone)]
pub enum Value {
    U8(u8),
    U32(u32),
    I32(i32),
    U64(u64),
    F32(f32),
    Bool(bool),
    Text(String),
    U32s(Vec<u32>),
    Bools(Vec<bool>),
    Texts(Vec<String>),
    /// A type number and raw bytes.
    Raw(u32, Vec<u8>),
}

impl From<u32> for Value {
    fn from(value: u32) -> Value {
        Value::U32(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_owned())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<Vec<u32>> for Value {
    fn from(values: Vec<u32>) -> Value {
        Value::U32s(values)
    }
}

/// The entry of a tensor; dimensions are slowest first, as in the library.
#[derive(Clone)]
pub struct Entry {
    pub name: Vec<u8>,
    pub dims: Vec<u64>,
    pub type_id: u32,
    /// The offset; by default after the previous tensor.
    pub offset: Option<u64>,
    pub bytes: u64,
}

/// A GGUF file under construction.
#[derive(Clone)]
pub struct Gguf {
    pub version: u32,
    pub big_endian: bool,
    pub alignment: u64,
    pub keys: Vec<(Vec<u8>, Value)>,
    pub tensors: Vec<Entry>,
}

impl Default for Gguf {
    fn default() -> Gguf {
        Gguf { version: 3, big_endian: false, alignment: 32, keys: Vec::new(), tensors: Vec::new() }
    }
}

impl Gguf {
    pub fn new() -> Gguf {
        Gguf::default()
    }

    /// A file of this architecture, whose name prefixes each key.
    pub fn of(architecture: &str, keys: &[(&str, Value)]) -> Gguf {
        let mut gguf = Gguf::new().key("general.architecture", architecture);
        for (key, value) in keys {
            gguf = gguf.key(&format!("{architecture}.{key}"), value.clone());
        }
        gguf
    }

    pub fn key(mut self, key: &str, value: impl Into<Value>) -> Gguf {
        self.keys.push((key.as_bytes().to_vec(), value.into()));
        self
    }

    pub fn tensor(mut self, name: &str, dims: &[u64], dtype: Dtype) -> Gguf {
        let bytes = dtype.bytes(dims.iter().product()).expect("whole blocks");
        let type_id = dtype.ggml().expect("a ggml type");
        self.tensors.push(Entry { name: name.into(), dims: dims.to_vec(), type_id, offset: None, bytes });
        self
    }

    pub fn entry(mut self, name: &str, dims: &[u64], type_id: u32, offset: Option<u64>, bytes: u64) -> Gguf {
        self.tensors.push(Entry { name: name.into(), dims: dims.to_vec(), type_id, offset, bytes });
        self
    }

    /// The header, padded to the start of the data.
    pub fn header(&self) -> Vec<u8> {
        let mut out = Bytes { bytes: b"GGUF".to_vec(), big_endian: self.big_endian };
        out.u32(self.version);
        out.u64(self.tensors.len() as u64);
        out.u64(self.keys.len() as u64);
        for (key, value) in &self.keys {
            out.text(key);
            out.value(value);
        }
        let mut next = 0u64;
        for tensor in &self.tensors {
            out.text(&tensor.name);
            out.u32(tensor.dims.len() as u32);
            for dim in tensor.dims.iter().rev() {
                out.u64(*dim);
            }
            out.u32(tensor.type_id);
            out.u64(tensor.offset.unwrap_or(next));
            let end = tensor.offset.unwrap_or(next).saturating_add(tensor.bytes);
            next = end.checked_next_multiple_of(self.alignment).unwrap_or(end);
        }
        let length = (out.bytes.len() as u64).next_multiple_of(self.alignment);
        out.bytes.resize(length as usize, 0);
        out.bytes
    }

    /// Size of the whole file in bytes.
    pub fn length(&self) -> u64 {
        let data: u64 = self.tensors.iter().map(|tensor| tensor.bytes.next_multiple_of(self.alignment)).sum();
        self.header().len() as u64 + data
    }

    /// The whole file; all weights are zero.
    pub fn build(&self) -> Vec<u8> {
        let mut bytes = self.header();
        bytes.resize(self.length() as usize, 0);
        bytes
    }
}

struct Bytes {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Bytes {
    fn put(&mut self, little: &[u8]) {
        if self.big_endian {
            self.bytes.extend(little.iter().rev());
        } else {
            self.bytes.extend(little);
        }
    }

    fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.u64(text.len() as u64);
        self.bytes.extend(text);
    }

    fn array(&mut self, kind: u32, length: usize) {
        self.u32(9);
        self.u32(kind);
        self.u64(length as u64);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::U8(value) => {
                self.u32(0);
                self.put(&[*value]);
            }
            Value::U32(value) => {
                self.u32(4);
                self.u32(*value);
            }
            Value::I32(value) => {
                self.u32(5);
                self.put(&value.to_le_bytes());
            }
            Value::U64(value) => {
                self.u32(10);
                self.u64(*value);
            }
            Value::F32(value) => {
                self.u32(6);
                self.put(&value.to_le_bytes());
            }
            Value::Bool(value) => {
                self.u32(7);
                self.put(&[u8::from(*value)]);
            }
            Value::Text(value) => {
                self.u32(8);
                self.text(value.as_bytes());
            }
            Value::U32s(values) => {
                self.array(4, values.len());
                values.iter().for_each(|value| self.u32(*value));
            }
            Value::Bools(values) => {
                self.array(7, values.len());
                values.iter().for_each(|value| self.put(&[u8::from(*value)]));
            }
            Value::Texts(values) => {
                self.array(8, values.len());
                values.iter().for_each(|value| self.text(value.as_bytes()));
            }
            Value::Raw(kind, bytes) => {
                self.u32(*kind);
                self.bytes.extend(bytes);
            }
        }
    }
}

/// A SafeTensors file of zeros.
pub fn safetensors(tensors: &[(&str, &[u64], Dtype)]) -> Vec<u8> {
    let (mut bytes, length) = safetensors_header(tensors);
    bytes.resize(bytes.len() + length as usize, 0);
    bytes
}

/// The header of a SafeTensors file and the size of its data.
pub fn safetensors_header(tensors: &[(&str, &[u64], Dtype)]) -> (Vec<u8>, u64) {
    let mut end = 0;
    let entries: Vec<String> = tensors
        .iter()
        .map(|(name, dims, dtype)| {
            let start = end;
            end += dtype.bytes(dims.iter().product()).expect("whole blocks");
            format!(r#""{name}":{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":[{start},{end}]}}"#)
        })
        .collect();
    let header = format!("{{{}}}", entries.join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    (bytes, end)
}
