import Foundation
import OAuth2
import SharedStores
import TokenGeneration

extension Seeds {
    private static let recordKey = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")

    static let recordCipher: RecordCipher = {
        do { return try RecordCipher(sealingKey: recordKey) } catch {
            fatalError("\(error)")  // reason: the targets require the key.
        }
    }()

    static let recordKeys: RecordKeys = {
        do { return try RecordKeys(sealing: recordKey) } catch {
            fatalError("\(error)")  // reason: the targets require the key.
        }
    }()

    /// Returns the record of a ring with the given content.
    static func sealedRing(_ content: [UInt8]) -> [UInt8]? {
        let format = "swift-authenticated-client/signing-keys"
        guard
            let sealed = try? recordCipher.seal(content, authenticating: Array("\(format)\n1\ndefault".utf8))
        else { return nil }
        let record: JSONObject = [
            "format": .string(format), "version": 1, "sealed_with": .string(sealed.keyID),
            "sealed": .string(Data(sealed.bytes).base64EncodedString()),
        ]
        return Array(record.serialized().utf8)
    }

    private static func tokenRecord(_ members: String, version: String = "2") -> String {
        let record = #""access_token":"old","token_type":"Bearer","refresh_token":"r0","expiration":"0.0","epoch":"e""#
        return
            #"{"format":"swift-authenticated-client/token","version":\#(version),"key":"k","record":{\#(record)\#(members)}}"#
    }

    /// The seeds of each kind of record, and of the target that has them all.
    static func recordSeeds() throws -> [FuzzTarget: [Data]] {
        let largest = "9223372036854775807"
        let attempt =
            #","attempt":{"id":"a","host":"h","valid_for":"1e300","tries":\#(largest),"earlier":["b"],"date":"0.0"}"#
        var texts = [
            "", ",\"generation\":\(largest)", attempt, #","pause":{"seconds":"1e300","end":"1e22"}"#,
            #","obtained":"1e300","scope":"a b""#, #","end":"lost""#,
        ].map { tokenRecord($0) }
        texts += ["-1e99", "3", "1"].map { tokenRecord("", version: $0) }
        let sealed = try recordCipher.seal(Array("{}".utf8), authenticating: [])
        texts.append(
            #"{"format":"swift-authenticated-client/token","version":2,"key":"k","sealed_with":"\#(sealed.keyID)","sealed":"AAAA"}"#
        )
        let der = try SigningKey(jwk: vector.key).der()
        let key =
            #"{"kid":"a","alg":"ES256","published_at":0,"active_from":1,"signs_until":253402300799,"verifies_until":253402300799,"size":\#(der.count)}"#
        let rings = [(key, "1", der), (key, largest, der), ("", largest, Data())].map { key, generation, der in
            Data("{\"generation\":\(generation),\"attempt\":\"a\",\"keys\":[\(key)]}\n".utf8) + der
        }
        let replays = [0x41D2_CF3F_0000_0000, 0x7FF8_0000_0000_0000, 0xFFF0_0000_0000_0000, 0x7E37_E43C_8800_759C]
            .map { (pattern: UInt64) in
                Data((0..<8).map { UInt8(truncatingIfNeeded: pattern >> (56 - 8 * $0)) })
                    + Data(#"{"header":{"revision":"2"},"responses":[{"response_range":{}}]}"#.utf8)
            }
        var seeds: [FuzzTarget: [Data]] = [
            .recordToken: texts.map { Data($0.utf8) }, .recordKeys: rings, .recordReplay: replays,
        ]
        for (index, target) in FuzzTarget.records.enumerated() {
            seeds[.record, default: []] += (seeds[target] ?? []).map { Data([UInt8(index)]) + $0 }
        }
        return seeds
    }
}
