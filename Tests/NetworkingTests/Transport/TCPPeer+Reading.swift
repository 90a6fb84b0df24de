extension TCPPeer.Connection {
    /// Reads a request's header, its empty line included.
    @discardableResult
    func readHead() throws -> String {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") { head += try readLine() + "\r\n" }
        return head
    }

    /// Reads a line without its end.
    func readLine() throws -> String {
        var octets: [UInt8] = []
        while octets.suffix(2) != [13, 10] { octets += try read(1) }
        return String(decoding: octets.dropLast(2), as: UTF8.self)
    }

    /// Reads so many octets.
    func readExactly(_ count: Int) throws -> [UInt8] {
        var octets: [UInt8] = []
        while octets.count < count { octets += try read(min(65_536, count - octets.count)) }
        return octets
    }

    /// Reads so many octets, and keeps none.
    func discard(_ count: Int) throws {
        var rest = count
        while rest > 0 { rest -= try read(min(1 << 18, rest)).count }
    }

    /// Reads a request whose body comes in chunks, and records it with its body decoded.
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
