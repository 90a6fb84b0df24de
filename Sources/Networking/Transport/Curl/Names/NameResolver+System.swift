import Glibc

extension NameResolver.Query {
    /// The most addresses of each family that are used of an answer, which may have thousands.
    private static let maximumCount = 16

    /// The answer of the system's resolver, in the order of [RFC 6724](https://www.rfc-editor.org/rfc/rfc6724).
    ///
    /// Addresses that need a zone are left out, because a URL's name can't say which.
    var systemAnswer: NameResolver.Answer {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = systemFamily
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            // The system says that a name has no address when it lacks the socket to ask for it.
            if let number = Self.missingDescriptor {
                return .failure(.unavailable(.noDescriptor(number, "names can't be looked up")))
            }
            return .failure(.noAddress(unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var counts: [Int32: Int] = [:]
        var entry = unsafe list
        while let current = unsafe entry {
            let family = unsafe current.pointee.ai_family
            if let text = unsafe Self.text(of: current.pointee), counts[family, default: 0] < Self.maximumCount,
                !addresses.contains(text)
            {
                counts[family, default: 0] += 1
                addresses.append(text)
            }
            unsafe entry = current.pointee.ai_next
        }
        guard !addresses.isEmpty else { return .failure(.noAddress("it has no address that works without a zone")) }
        return .success(addresses)
    }

    /// A Boolean value that indicates whether the text is an address in any of the forms that the system reads, such as `127.1`.
    static func isAddress(_ text: String) -> Bool {
        if text.utf8.contains(UInt8(ascii: ":")) { return true }
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(text, nil, &hints, &list) == 0 else { return false }
        unsafe freeaddrinfo(list)
        return true
    }

    private var systemFamily: Int32 {
        switch family {
        case .ipv4: return AF_INET
        case .ipv6: return AF_INET6
        case .any:
            // Without IPv6 in the kernel, asking for its addresses is a waste of a query.
            let probe = socket(AF_INET6, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard probe >= 0 else { return AF_INET }
            close(probe)
            return AF_UNSPEC
        }
    }

    private static var missingDescriptor: Int32? {
        let probe = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe < 0 else {
            close(probe)
            return nil
        }
        return NetworkError.isDescriptorLimit(errno) ? errno : nil
    }

    private static func text(of entry: addrinfo) -> String? {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
            guard let start = buffer.baseAddress,
                unsafe getnameinfo(
                    entry.ai_addr,
                    entry.ai_addrlen,
                    start,
                    socklen_t(buffer.count),
                    nil,
                    0,
                    NI_NUMERICHOST
                ) == 0
            else { return nil }
            let text = unsafe String(cString: start)
            return text.utf8.contains(UInt8(ascii: "%")) ? nil : text
        }
    }
}
