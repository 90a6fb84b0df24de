public import Foundation

extension SigningKey: SigningService, LocalSigningService {
    package var key: SigningKey { self }

    /// Signs data with the key's algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        Data(try signature(for: data.bytes))
    }
}
