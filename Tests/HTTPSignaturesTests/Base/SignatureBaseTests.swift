import Foundation
import FoundationNetworking
import Networking
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.computing)
struct SignatureBaseTests {
    struct ComponentVector: Decodable, Sendable, CustomTestStringConvertible {
        let id: String
        let message: MessageVector
        let lines: [String]
        let types: [String: String]?

        enum CodingKeys: String, CodingKey {
            case id, message, lines
            case types = "field_types"
        }

        var testDescription: String { id }

        private struct File: Decodable { let cases: [ComponentVector] }

        static let all = (try? Vector.decode("rfc9421-components", as: File.self))?.cases ?? []
    }

    @Test("the files have all published cases")
    func counts() {
        #expect(ComponentVector.all.count == 21)
        #expect(SignatureVector.all.count == 20)
    }

    @Test("derives the values of RFC 9421 §2", .shows("RFC 9421 §2"), arguments: ComponentVector.all)
    func components(_ vector: ComponentVector) throws {
        let message = try vector.message.message()
        var components: [ComponentIdentifier] = []
        for line in vector.lines {
            let end = try #require(line.firstRange(of: ": ")).lowerBound
            let list = try StructuredField.InnerList(parsing: ["(\(line[..<end]))"])
            components += try list.items.map(ComponentIdentifier.init)
        }
        let base = try SignatureBase(
            of: message,
            parameters: SignatureParameters(components: components),
            fieldTypes: vector.types == nil ? [:] : ["example-dict": .dictionary]
        )
        #expect(base.lines.map { "\($0.component): \($0.value)" } == vector.lines)
        let last = "\"@signature-params\": (\(components.map(\.description).joined(separator: " ")))"
        #expect(base.text == (vector.lines + [last]).joined(separator: "\n"))
    }

    @Test("builds the published signature bases", .shows("RFC 9421 §2.5"), arguments: SignatureVector.all)
    func bases(_ vector: SignatureVector) throws {
        let base = try SignatureBase(of: vector.httpMessage(), parameters: vector.signatureParameters())
        #expect(base.text == vector.base)
    }

    @Test(
        "takes the parameters of the received field, in their order",
        .shows("RFC 9421 §2.3"),
        arguments: SignatureVector.all
    )
    func parameters(_ vector: SignatureVector) throws {
        let received = try SignatureFields(vector.httpMessage().headers).signature(vector.label).parameters
        #expect(try received.serialized() == vector.parameters)
        #expect(received == (try vector.signatureParameters()))
    }

    @Test("keeps the order of parameters that a canonical order would change", .shows("RFC 9421 §2.3"))
    func order() throws {
        let text = "(\"d\";tr;key=\"a\" \"@method\");zz;keyid=\"k\";created=1;unknown=?0;a=:AA==:"
        let parameters = try SignatureParameters(StructuredField.InnerList(parsing: ["  \(text)"]))
        #expect(try parameters.serialized() == text)
    }

    @Test("identifies a component regardless of the order of its parameters")
    func identity() {
        let field = ComponentIdentifier("d")
        #expect(field.member("a").ofRequest == field.ofRequest.member("a"))
        #expect(field.member("a").structured == field.member("a"))
        #expect(field.member("a") != field.member("b"))
        #expect(field.structured != field)
        #expect(Set([field.member("a").trailer, field.trailer.member("a")]).count == 1)
        #expect(Set([field.member("a").structured, field.member("a")]).count == 1)
        #expect(Set([field.structured, field]).count == 2)
        #expect(field.structured.ofRequest != field.structured.ofRequest.member("a"))
        #expect(field.member("a").structured.ofRequest == field.ofRequest.member("a"))
        #expect(field.member("a").structured.trailer != field.ofRequest.member("a"))
    }

    @Test("identifiers with other parameters have other hashes, so that a set isn't searched", .shows("M13"))
    func hashes() throws {
        let items = (0..<64).map { "\"a\";x;y;z\($0)" }.joined(separator: " ")
        let list = try StructuredField.InnerList(parsing: ["(\(items))"])
        let components = try SignatureParameters(list).components
        #expect(Set(components.map(\.hashValue)).count == 64)
    }

    @Test("hides credentials in the description, but not in the text", .shows("M20"))
    func redaction() throws {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer s3cret-token", "Cookie": "session=s3cret",
            "DPoP": "eyJ0eXAiOiJkcG9wK2p3dCJ9.e30.AA",
            "Date": "today",
        ]
        let message = HTTPMessage(
            method: .get,
            url: "https://api.example/a?access_token=s3cret&page=2",
            headers: headers
        )
        let parameters = SignatureParameters(components: [
            "authorization", "cookie", "dpop", ComponentIdentifier("authorization").binary, "date", .targetURI, .query,
            .queryParameter("access_token"), .queryParameter("page"),
        ])
        let base = try SignatureBase(of: message, parameters: parameters)
        let shown = base.description + String(reflecting: base) + base.lines.map { "\($0)" }.joined()
        #expect(base.text.contains("s3cret-token"))
        #expect(!shown.contains("s3cret"))
        #expect(!shown.contains("eyJ0"))
        #expect(!shown.contains(Data("Bearer s3cret-token".utf8).base64EncodedString()))
        #expect(base.description.contains("\"date\": today"))
        #expect(base.description.contains("page=2"))
        #expect(base.description.hasSuffix("\"@query-param\";name=\"page\")"))
    }
}

@Suite(.computing)
struct TargetURITests {
    private func value(_ component: ComponentIdentifier, _ url: String) throws -> String {
        let message = HTTPMessage(method: .get, url: url, headers: [:])
        return try SignatureBase(of: message, parameters: SignatureParameters(components: [component])).lines[0].value
    }

    @Test(
        "normalizes the authority",
        .shows("RFC 9421 §2.2"),
        arguments: [
            ("https://EXAMPLE.com", "example.com"), ("https://example.com:443/", "example.com"),
            ("http://example.com:80/", "example.com"), ("https://example.com:80/", "example.com:80"),
            ("http://example.com:443", "example.com:443"), ("https://example.com:/", "example.com"),
            ("https://example.com.:8443/", "example.com.:8443"), ("https://[2001:DB8::1]/", "[2001:db8::1]"),
            ("https://[2001:db8::1]:443/", "[2001:db8::1]"), ("https://[::1]:8443/a", "[::1]:8443"),
            ("http://[fe80::1%25eth0]:8080/", "[fe80::1]:8080"),
            ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
            ("HTTPS://example.com:0443/", "example.com"),
        ]
    )
    func authority(_ url: String, _ expected: String) throws {
        #expect(try value(.authority, url) == expected)
    }

    @Test(
        "keeps the path and the query unchanged",
        .shows("M12", "RFC 9421 §2.2"),
        arguments: [
            ("https://a.example", "/", "?", "https://a.example/"),
            ("https://a.example?", "/", "?", "https://a.example/?"),
            (
                "https://a.example/%7Ea/%2f%2F/../b//c", "/%7Ea/%2f%2F/../b//c", "?",
                "https://a.example/%7Ea/%2f%2F/../b//c"
            ),
            ("https://a.example/x?a=b+c&d=%20%2B?", "/x", "?a=b+c&d=%20%2B?", "https://a.example/x?a=b+c&d=%20%2B?"),
            ("HTTP://A.example:80/X?Y", "/X", "?Y", "http://a.example/X?Y"),
        ]
    )
    func target(_ url: String, _ path: String, _ query: String, _ whole: String) throws {
        #expect(try value(.path, url) == path)
        #expect(try value(.query, url) == query)
        #expect(try value(.targetURI, url) == whole)
        #expect(try value(.requestTarget, url) == String(whole.dropFirst(whole.hasPrefix("https") ? 17 : 16)))
    }

    @Test(
        "rejects URLs that aren't absolute, or that a server could read differently",
        .shows("M12", "RFC 9421 §2.2"),
        arguments: [
            "", "/a", "ftp://a.example/", "https:///a", "https://user@a.example/", "https://a.example:x/",
            "https://a.example:65536/", "https://a.example:-1/", "https://[::1/", "https://::1/", "https://]/",
            "https://bücher.example/", "https://a.example/ä", "https://a.example/a b", "https://a.example/\\b",
            "https://a.example/#b", "https://a.example/\u{7F}", "https://a.example/\n",
        ]
    )
    func malformed(_ url: String) {
        #expect(throws: HTTPSignatureError(.malformedComponent, "")) { _ = try value(.targetURI, url) }
    }

    @Test(
        "takes the origin from the configuration and the path from the target",
        arguments: [
            ("/a?b", "https://api.example/a?b"), ("http://internal:8080/a?b", "https://api.example/a?b"),
            ("http://internal", "https://api.example/"), ("*", "https://api.example/"),
            ("//x/y", "https://api.example//x/y"),
            ("api.example:443", "https://api.example/"), ("?b", "https://api.example/"),
        ]
    )
    func origin(_ target: String, _ expected: String) throws {
        let message = HTTPMessage(
            method: .get,
            target: target,
            at: "https://api.example",
            headers: [
                "Host": "internal:8080", "Forwarded": "host=evil.example;proto=http",
                "X-Forwarded-Host": "evil.example",
            ]
        )
        let base = try SignatureBase(
            of: message,
            parameters: SignatureParameters(components: [.targetURI, .authority, .scheme, .requestTarget])
        )
        #expect(base.lines.map(\.value) == [expected, "api.example", "https", target])
    }

    @Test("a fragment in a received target isn't ignored", .shows("M12"), arguments: ["/a#b", "http://x/a#b"])
    func fragments(_ target: String) {
        let message = HTTPMessage(method: .get, target: target, at: "https://api.example", headers: [:])
        #expect(throws: HTTPSignatureError(.malformedComponent, "")) {
            _ = try SignatureBase(of: message, parameters: SignatureParameters(components: [.path]))
        }
    }

    @Test(
        "encodes query parameters as the URL Standard does",
        .shows("RFC 9421 §2.2"),
        arguments: [
            ("a", "a=1", "1"), ("a", "b&a&c", ""), ("a", "a=", ""), ("a", "&&a=x=y&", "x%3Dy"),
            ("a b", "a+b=c+d", "c%20d"),
            ("a", "a=%7E~*-._", "%7E%7E*-._"), ("a", "a=%zz%", "%25zz%25"), ("", "=v", "v"),
            ("ä", "%c3%a4=%C3%9F", "%C3%9F"),
            ("a", "A=2&a=1", "1"), ("a", "%61=1", "1"),
        ]
    )
    func queryParameters(_ name: String, _ query: String, _ expected: String) throws {
        #expect(try value(.queryParameter(name), "https://a.example/?\(query)") == expected)
    }

    @Test("a name in another encoding of the identifier isn't found")
    func otherEncoding() {
        let identifier = ComponentIdentifier("@query-param", parameters: .init([("name", .string("%c3%a4"))]))
        #expect(throws: HTTPSignatureError(.missingComponent, "")) {
            _ = try value(identifier, "https://a.example/?%c3%a4=1")
        }
    }

    @Test("a URLRequest's URL is used without its fragment")
    func urlRequest() throws {
        var request = URLRequest(url: try #require(URL(string: "https://a.example/x?y#z")))
        request.httpMethod = "purge"
        let message = try #require(HTTPMessage(request))
        let base = try SignatureBase(of: message, parameters: SignatureParameters(components: [.targetURI, .method]))
        #expect(base.lines.map(\.value) == ["https://a.example/x?y", "purge"])
    }

    @Test("descriptions don't show field values or queries", .shows("M20"))
    func descriptions() {
        let message = HTTPMessage(method: .get, url: "https://a.example/x?secret", headers: ["Authorization": "secret"])
        let response = HTTPMessage(status: 200, headers: ["Set-Cookie": "secret"], request: message)
        for text in [message.description, String(reflecting: message), response.description, "\(response)"] {
            #expect(!text.contains("secret"))
        }
        #expect(message.description == "GET https://a.example/x with Authorization")
    }
}

@Suite(.computing)
struct SignatureVectorTests {
    private func isValid(_ signature: Data, _ base: String, _ key: VerificationKey) -> Bool {
        Array(signature).withBytes { signature in
            Array(base.utf8).withBytes { key.isValidSignature(signature, for: $0) }
        }
    }

    @Test(
        "verifies the published signatures with the published keys",
        .shows("RFC 9421 §2.5"),
        arguments: SignatureVector.all
    )
    func signatures(_ vector: SignatureVector) throws {
        let key = try TestKey.verification(vector.keyid)
        let base = try SignatureBase(of: vector.httpMessage(), parameters: vector.signatureParameters())
        let signature = try #require(Data(base64Encoded: vector.signature))
        #expect(isValid(signature, base.text, key) == vector.isValid)
        #expect(key.httpSignatureName == vector.alg)
    }

    @Test(
        "accepts and rejects the published messages",
        .shows("P39", "RFC 9421 §3.2"),
        arguments: SignatureVector.all.filter { $0.id != "b21" }
    )
    func messages(_ vector: SignatureVector) async throws {
        let parameters = try vector.signatureParameters()
        var profile = SignatureProfile(components: parameters.components.map { .required($0) })
        profile.nonce = .none
        profile.tag = parameters.tag
        let key = try TestKey.verification(vector.keyid)
        // Other signatures of the message are ignored.
        let keys = SignatureKeys { query in query.keyID == vector.keyid ? key : nil }
        var verifier = try MessageVerifier(profile: profile, keys: keys, replayCache: nil)
        let created = try #require(parameters.created)
        verifier.currentDate = { created }
        do {
            let verified = try await verifier.verify(try vector.httpMessage(), body: vector.message.body)
            #expect(vector.isValid)
            #expect(verified.keyID == vector.keyid)
            #expect(verified.signature.parameters.created == created)
            #expect(verified.signature.parameters.components == parameters.components)
        } catch {
            #expect(error as? HTTPSignatureError == HTTPSignatureError(.signatureInvalid, ""))
            #expect(!vector.isValid)
        }
    }

    @Test("the proxy's signature has expired after its minute")
    func expiration() async throws {
        let vector = try SignatureVector.named("4.3-proxy")
        var profile = SignatureProfile(components: [.required(.method), .required("forwarded")])
        profile.nonce = .none
        profile.clockSkew = .zero
        var verifier = try MessageVerifier(profile: profile, keys: TestKey.all(), replayCache: nil)
        var message = try vector.httpMessage()
        for name in ["Signature-Input", "Signature"] {
            let value = try #require(message.headers[name])
            let start = try #require(value.firstRange(of: "proxy_sig=")).lowerBound
            message.headers[name] = String(value[start...])
        }
        for (second, expected) in [(1_618_884_540, nil), (1_618_884_541, .expired)] as [(Int, HTTPSignatureError.Code?)]
        {
            verifier.currentDate = { Date(timeIntervalSince1970: TimeInterval(second)) }
            var code: HTTPSignatureError.Code?
            do { _ = try await verifier.verify(message, body: vector.message.body) } catch {
                code = error.code
            }
            #expect(code == expected)
        }
    }

    @Test("reproduces the deterministic signatures", .shows("RFC 9421 §3.1"), arguments: ["b25", "b26", "4.3-proxy"])
    func reproduction(_ id: String) async throws {
        let vector = try SignatureVector.named(id)
        let base = try SignatureBase(of: vector.httpMessage(), parameters: vector.signatureParameters())
        let signature = try await TestKey.signing(vector.keyid).signature(for: base)
        #expect(signature.base64EncodedString() == vector.signature)
    }

    @Test(
        "a flipped bit in any byte of the base invalidates the signature",
        .shows("M2"),
        arguments: ["b22", "b25", "b26", "4.3-proxy"]
    )
    func flippedBase(_ id: String) throws {
        let vector = try SignatureVector.named(id)
        let key = try TestKey.verification(vector.keyid)
        let signature = Array(try #require(Data(base64Encoded: vector.signature)))
        var base = Array(vector.base.utf8)
        for index in base.indices {
            base[index] ^= 1 << UInt8(index % 8)
            let isValid = signature.withBytes { signature in
                base.withBytes { key.isValidSignature(signature, for: $0) }
            }
            #expect(!isValid, "byte \(index)")
            base[index] ^= 1 << UInt8(index % 8)
        }
    }

    @Test("loads an RSA key whose primes have different sizes")
    func pem() throws {
        let rsa = try SigningKey(pem: TestKey.pem("test-key-rsa", "RSA PRIVATE KEY"), algorithm: .rs256)
        #expect(rsa.verificationKey.thumbprint == (try TestKey.verification("test-key-rsa").thumbprint))
    }
}
