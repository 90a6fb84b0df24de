internal import Compression

extension StatusList {
    /// Creates a list from its JSON form
    /// ([§4.2](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-4.2)).
    ///
    /// - Parameters:
    ///   - json: The object, such as the claim `status_list` of a status list token.
    ///   - maximumSize: The maximum size of the decompressed list in bytes. The default is 4 MiB,
    ///     which has 33,554,432 statuses of one bit. A malicious list can expand a thousandfold
    ///     when decompressed; so does an honest list without revoked tokens.
    /// - Throws: ``TokenError`` with the code `malformedClaim` if `bits` isn't 1, 2, 4 or 8, or
    ///   `lst` isn't the base64url of one complete zlib stream that isn't empty; `tooLarge` if the
    ///   decompressed list exceeds the maximum size; `unsupportedAlgorithm` if the system has no
    ///   zlib.
    public init(json: JSONObject, maximumSize: Int = 4_194_304) throws(TokenError) {
        guard let bits = json["bits"]?.number?.integer.flatMap(Bits.init(rawValue:)) else {
            throw TokenError(.malformedClaim, "“bits” of the status list must be 1, 2, 4 or 8")
        }
        guard let text = json["lst"]?.string else {
            throw TokenError(.malformedClaim, "“lst” of the status list must be a string")
        }
        if let uri = json["aggregation_uri"], uri.string == nil {
            throw TokenError(.malformedClaim, "“aggregation_uri” of the status list must be a string")
        }
        let compressed: [UInt8]
        do throws(TokenError) {
            compressed = try Base64URL.decode(text)
        } catch {
            throw TokenError(.malformedClaim, "“lst” of the status list isn't base64url", cause: error)
        }
        let bytes: [UInt8]
        do throws(ZlibStream.Failure) {
            bytes = try ZlibStream.decompress(compressed, maximumSize: maximumSize)
        } catch {
            throw TokenError(decompressing: error, maximumSize: maximumSize)
        }
        guard !bytes.isEmpty else { throw TokenError(.malformedClaim, "the status list is empty") }
        self.init(bits: bits, bytes: bytes)
    }

    /// Returns the JSON form of the list, compressed with zlib's best level.
    ///
    /// - Returns: The object, with `bits` and `lst`.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` if the system has no zlib.
    public func json() throws(TokenError) -> JSONObject {
        let compressed: [UInt8]
        do throws(ZlibStream.Failure) {
            compressed = try ZlibStream.compress(bytes)
        } catch {
            throw TokenError(decompressing: error, maximumSize: 0)
        }
        return ["bits": .number(JSONNumber(bits.rawValue)), "lst": .base64URL(compressed)]
    }
}

extension TokenError {
    fileprivate init(decompressing failure: ZlibStream.Failure, maximumSize: Int) {
        switch failure {
        case .unavailable:
            self.init(.unsupportedAlgorithm, "status lists need zlib (libz.so.1); install it")
        case .malformed:
            self.init(.malformedClaim, "“lst” of the status list isn't one complete zlib stream")
        case .tooLarge:
            self.init(.tooLarge, "the decompressed status list has more than \(maximumSize) bytes")
        }
    }
}
