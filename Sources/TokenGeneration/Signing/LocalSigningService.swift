/// A signing service whose key is in this process.
///
/// Its signatures need no check.
package protocol LocalSigningService: SigningService {
    /// The key that signs.
    var key: SigningKey { get }
}

extension SigningService {
    /// The key, if it's in this process.
    var localKey: SigningKey? { (self as? any LocalSigningService)?.key }
}
