import Glibc

/// A failed system call.
package struct SystemFailure: Error, CustomStringConvertible {
    /// The name of the function.
    package let call: String
    /// The value of `errno`.
    package let number: Int32

    /// Creates a failure of a function, by default with the current value of `errno`.
    package init(_ call: String, number: Int32 = errno) {
        self.call = call
        self.number = number
    }

    package var description: String {
        let text = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "unknown"
        return "\(call): \(text) (errno \(number))"
    }
}
