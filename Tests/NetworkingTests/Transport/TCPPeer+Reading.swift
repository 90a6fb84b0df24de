extension TCPPeer.Connection {
    /// Reads a request's header, including the empty line.
    @discardableResult
    func readHead() throws -> String {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") { head += try readLine() + "\r\n" }
        return head
    }

    /// Reads a line without its line ending.
    func readLine() throws -> String {
        var octets: [UInt8] = []
        while octets.suffix(2) != [13, 10] { octets += try read(1) }
        return String(decoding: octets.dropLast(2), as: UTF8.self)
    }

    /// Reads the given number of bytes.
    func readExactly(_ count: Int) throws -> [UInt8] {
        var octets: [UInt8] = []
        while octets.count < count { octets += try read(min(65_536, count - octets.count)) }
        return octets
    }

    /// Reads and discards the given number of bytes.
    func discard(_ count: Int) throws {
        var rest = count
        while rest > 0 { rest -= try read(min(1 << 18, rest)).count }
    }

    /// Reads and records a chunked request, with its body decoded.
    @discardableResult
    func readChunkedRequest() throws -> String {
        let head = try readHead()
        var body: [UInt8] = []
        while true {
            guard let size = Int(try readLine(), radix: 16) else { throw TCPPeer.Gone() }
            body += try readExactly(size)
            guard try readLine().isEmpty else { throw TCPPeer.Gone() }
            if size == 0 { break }
        }
        let request = head + String(decoding: body, as: UTF8.self)
        peer.record(request)
        return request
    }
}
