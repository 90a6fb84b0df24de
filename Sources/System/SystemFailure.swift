import Glibc

/// A failed call of the operating system.
package struct SystemFailure: Error, CustomStringConvertible {
    /// The name of the function.
    package let call: String
    /// The system's error number.
    package let number: Int32

    /// Makes a failure.
    ///
    /// - Parameters:
    ///   - call: The name of the function.
    ///   - number: The error number; by default that of the call that failed just now.
    package init(_ call: String, number: Int32 = errno) {
        self.call = call
        self.number = number
    }

    package var description: String {
        let text = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "unknown"
        return "\(call): \(text) (errno \(number))"
    }
}
