import Glibc

/// Owns a file descriptor of the operating system and closes it.
package struct Descriptor: ~Copyable {
    package let number: Int32

    package init(takingOwnershipOf number: Int32) {
        self.number = number
    }

    deinit {
        _ = close(number)
    }
}
