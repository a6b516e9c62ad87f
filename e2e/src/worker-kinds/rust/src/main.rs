// A worker without an SDK: the protocol of svc, which is JSON over a WebSocket, with Rust's standard library. It reads only
// the few members of a message that it needs. A real worker would use crates for both.
use std::env;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

fn dial(address: &str) -> Result<TcpStream> {
    let host = address.trim_start_matches("ws://").split('/').next().unwrap_or_default();
    let mut socket = TcpStream::connect(host)?;
    write!(
        socket,
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: d29ya2VyIG9mIHJ1c3QhIQ==\r\n\r\n"
    )?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    if head.starts_with(b"HTTP/1.1 101 ") {
        return Ok(socket);
    }
    Err(Error::new(ErrorKind::Other, String::from_utf8_lossy(&head).into_owned()))
}

/// The mask is zero: it protects proxies from pages, and there is neither here.
fn send(socket: &mut TcpStream, opcode: u8, payload: &[u8]) -> Result<()> {
    let mut frame = vec![0x80 | opcode];
    match payload.len() {
        n if n < 126 => frame.push(0x80 | n as u8),
        n => {
            frame.push(0x80 | 126);
            frame.extend((n as u16).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    socket.write_all(&frame)
}

fn receive(socket: &mut TcpStream) -> Result<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    socket.read_exact(&mut head)?;
    let mut wide = [0; 8];
    let size = match head[1] & 0x7f {
        126 => {
            socket.read_exact(&mut wide[6..])?;
            u64::from_be_bytes(wide)
        }
        127 => {
            socket.read_exact(&mut wide)?;
            u64::from_be_bytes(wide)
        }
        n => u64::from(n),
    };
    let mut payload = vec![0; size as usize];
    socket.read_exact(&mut payload)?;
    Ok((head[0] & 0x0f, payload))
}

/// Returns what follows `"name":` up to the end of the value, which is a plain string or a number.
fn member<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let at = message.find(&format!("\"{name}\":"))? + name.len() + 3;
    let value = &message[at..];
    Some(value[..value.find([',', '}'])?].trim().trim_matches('"'))
}

fn main() -> Result<()> {
    let name = env::var("SVC_WORKER_NAME").unwrap_or_default();
    let mut engine = dial(&env::var("SVC_URL").unwrap_or_default())?;
    let me = format!(r#"{{"name":"{name}","runtime":"rust","pid":{}}}"#, std::process::id());
    let hello = format!(r#"{{"type":"invokefunction","function_id":"engine::workers::register","action":{{"type":"void"}},"data":{me}}}"#);
    send(&mut engine, TEXT, hello.as_bytes())?;
    send(&mut engine, TEXT, format!(r#"{{"type":"registerfunction","id":"{name}::double"}}"#).as_bytes())?;
    loop {
        let (opcode, payload) = receive(&mut engine)?;
        match opcode {
            PING => send(&mut engine, PONG, &payload)?,
            CLOSE => return Ok(()),
            _ => {
                let message = String::from_utf8_lossy(&payload);
                if member(&message, "type") != Some("invokefunction") {
                    continue;
                }
                let id = member(&message, "invocation_id").unwrap_or_default();
                let n: i64 = member(&message, "n").and_then(|n| n.parse().ok()).unwrap_or_default();
                let answer = format!(
                    r#"{{"type":"invocationresult","invocation_id":"{id}","function_id":"{name}::double","result":{{"n":{},"runtime":"rust"}}}}"#,
                    2 * n
                );
                send(&mut engine, TEXT, answer.as_bytes())?;
            }
        }
    }
}
