import Foundation

/// A frame to send to the client
/// ([RFC 9113 §4.1](https://www.rfc-editor.org/rfc/rfc9113#section-4.1)).
struct HTTP2Frame {
    let octets: [UInt8]

    init(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) {
        octets =
            [UInt8(payload.count >> 16), UInt8(truncatingIfNeeded: payload.count >> 8)]
            + [UInt8(truncatingIfNeeded: payload.count), type, flags] + Self.octets(stream) + payload
    }

    static let settings = HTTP2Frame(4, flags: 0, stream: 0, [])
    static let settingsTaken = HTTP2Frame(4, flags: 1, stream: 0, [])
    /// A complete response with `:status: 200`.
    static let ok = HTTP2Frame(1, flags: 5, stream: 1, [0x88])
    static let ping = HTTP2Frame(6, flags: 0, stream: 0, [UInt8](repeating: 0x2A, count: 8))

    /// A response's header or trailers.
    static func headers(_ fields: [(name: String, value: String)], ends: Bool = false) -> Self {
        // Literal fields with literal names (RFC 7541 §6.2.2).
        var payload: [UInt8] = []
        for field in fields {
            payload.append(0)
            for text in [field.name, field.value] { payload += [UInt8(text.utf8.count)] + Array(text.utf8) }
        }
        return Self(1, flags: ends ? 5 : 4, stream: 1, payload)
    }

    static func head(_ status: Int, length: Int? = nil, ends: Bool = false) -> Self {
        var fields = [(":status", "\(status)")]
        if let length { fields.append(("content-length", "\(length)")) }
        return headers(fields, ends: ends)
    }

    static func data(_ text: String, ends: Bool = false) -> Self {
        Self(0, flags: ends ? 1 : 0, stream: 1, Array(text.utf8))
    }

    static func reset(stream: UInt32 = 1, code: UInt32) -> Self { Self(3, flags: 0, stream: stream, octets(code)) }

    static func goAway(lastStream: UInt32) -> Self {
        Self(7, flags: 0, stream: 0, octets(lastStream) + octets(0))
    }

    private static func octets(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
}

extension TCPPeer.Connection {
    /// The header of a frame that the client sent.
    struct FrameHead {
        let type: UInt8
        let flags: UInt8
        let stream: UInt32
        let size: Int

        var endsStream: Bool { type <= 1 && flags & 1 == 1 }
    }

    /// Reads the client's preface and starts HTTP/2.
    func beginHTTP2() throws {
        _ = try readExactly(24)
        try send([.settings, .settingsTaken])
    }

    /// Reads a frame and discards its payload.
    func readFrame() throws -> FrameHead {
        let head = try readExactly(9)
        let size = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        try discard(size)
        let stream = head[5...].reduce(into: UInt32(0)) { $0 = $0 << 8 | UInt32($1) }
        return FrameHead(type: head[3], flags: head[4], stream: stream, size: size)
    }

    /// Reads frames up to the first one that satisfies a condition.
    @discardableResult
    func readFrames(to isLast: (FrameHead) -> Bool) throws -> FrameHead {
        while true {
            let frame = try readFrame()
            if isLast(frame) { return frame }
        }
    }

    /// Sends frames together.
    func send(_ frames: [HTTP2Frame]) throws { try send(frames.flatMap(\.octets)) }

    /// Sends frames one by one, each after the client has read the previous one.
    func sendApart(_ frames: [HTTP2Frame]) throws {
        for frame in frames {
            try send([frame, .ping])
            try readFrames { $0.type == 6 }
        }
    }
}
