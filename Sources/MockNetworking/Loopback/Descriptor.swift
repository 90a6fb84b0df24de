import Glibc

/// Owns a file descriptor of the operating system and closes it.
struct Descriptor: ~Copyable {
    let number: Int32

    init(takingOwnershipOf number: Int32) {
        self.number = number
    }

    deinit {
        _ = close(number)
    }
}

/// A failed call of the operating system.
struct SystemFailure: Error, CustomStringConvertible {
    let call: String
    let number: Int32

    /// Keeps the number of the call that failed just now.
    init(_ call: String) {
        self.call = call
        number = errno
    }

    var description: String {
        let text = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "unknown"
        return "\(call): \(text) (errno \(number))"
    }
}
