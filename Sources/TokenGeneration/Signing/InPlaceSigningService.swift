internal import OpenSSLCrypto

/// A service that signs bytes where they are, without a copy into `Data`.
package protocol InPlaceSigningService: SigningService {
    /// Signs, as ``SigningService/sign(data:)`` does.
    func signature(for message: RawSpan) throws(TokenError) -> [UInt8]

    /// Makes a compact JWS.
    ///
    /// - Parameters:
    ///   - header: The header in base64url, with the period that comes after it; `nil` for that of a JWT which has no other
    ///     members than `alg`, `kid` and `typ`.
    ///   - payload: The payload's octets.
    /// - Returns: The text.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    func token(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String
}

/// Which types of signing services sign in place.
///
/// The runtime's answer costs a twentieth of a token's time, and never changes.
private final class ServiceType: Sendable {
    private let service: ObjectIdentifier
    private let inPlaceType: (any InPlaceSigningService.Type)?
    private let next = SetOnce<ServiceType>()

    /// More types than a program has; what does not fit is asked for each time.
    private static let capacity = 16
    private static let first = SetOnce<ServiceType>()

    private init(_ service: any SigningService.Type) {
        self.service = ObjectIdentifier(service)
        inPlaceType = service as? any InPlaceSigningService.Type
    }

    /// The type of a service, if it signs in place.
    static func inPlaceType(of service: any SigningService.Type) -> (any InPlaceSigningService.Type)? {
        let known = first.withObject { $0.find(ObjectIdentifier(service)) } ?? nil
        if let known { return known }
        let new = ServiceType(service)
        if !first.set(new) { first.withObject { $0.append(new, capacity: capacity - 1) } }
        return new.inPlaceType
    }

    /// The answer for a type, or `nil` if it is not in the list from here on.
    private func find(_ wanted: ObjectIdentifier) -> (any InPlaceSigningService.Type)?? {
        service == wanted ? .some(inPlaceType) : next.withObject { $0.find(wanted) } ?? nil
    }

    private func append(_ new: ServiceType, capacity: Int) {
        guard capacity > 0, service != new.service, !next.set(new) else { return }
        next.withObject { $0.append(new, capacity: capacity - 1) }
    }
}

extension SigningService {
    /// Makes a compact JWS, if the service signs in place.
    ///
    /// - Parameters:
    ///   - header: The header, as for ``InPlaceSigningService/token(header:payload:)``.
    ///   - payload: The payload's octets.
    /// - Returns: The text, or `nil` if the service does not sign in place.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    func tokenInPlace(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String? {
        guard let type = ServiceType.inPlaceType(of: Self.self) else { return nil }
        return try token(type, header, payload)
    }

    private func token<InPlace: InPlaceSigningService>(
        _ type: InPlace.Type,
        _ header: [UInt8]?,
        _ payload: [UInt8]
    ) throws(TokenError) -> String {
        try knownType(self, type).token(header: header, payload: payload)
    }
}
