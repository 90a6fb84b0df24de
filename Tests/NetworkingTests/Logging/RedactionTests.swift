import Foundation
import Networking
import TestSupport
import Testing

@Suite("Redaction", .computing)
struct RedactionTests {
    private let redaction = Redaction.standard
    /// The header and claims of RFC 7519 §3.1, shortened.
    private let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UifQ.dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    private func body(_ text: String, _ type: String? = "application/json") -> String? {
        redaction.redacted(Data(text.utf8), contentType: type)
    }

    @Test(
        "Redacts credential fields and keeps known schemes",
        .shows("H18"),
        arguments: [
            ("Authorization", "Bearer s3cret", "Bearer REDACTED"), ("authorization", "DPoP s3cret", "DPoP REDACTED"),
            ("Authorization", "s3cret", "REDACTED"), ("Authorization", "s3cret more", "REDACTED"),
            ("Proxy-Authorization", "Basic s3cret", "Basic REDACTED"), ("Cookie", "a=s3cret; b=s3cret", "REDACTED"),
            ("Set-Cookie", "a=s3cret; Path=/", "REDACTED"), ("DPoP", "s3cret", "REDACTED"),
            ("X-API-KEY", "s3cret", "REDACTED"), ("x_api_key", "s3cret", "REDACTED"), ("Accept", "a/b", "a/b"),
            ("WWW-Authenticate", "Bearer realm=\"a\"", "Bearer realm=\"a\""),
            ("Location", "https://a.example/cb?code=s3cret&x=1", "https://a.example/cb?code=REDACTED&x=1"),
            ("Location", "/cb?x=1#access_token=s3cret", "/cb?x=1#access_token=REDACTED"),
        ]
    )
    func headers(_ name: String, _ value: String, _ expected: String) {
        #expect(redaction.redacted(HTTPHeaders([.init(name: name, value: value)])).map(\.value) == [expected])
    }

    @Test(
        "Redacts secrets in queries and user information in URLs",
        .shows("H18"),
        arguments: [
            (
                "https://a.example/x?q=1&access_token=s3cret&page=2",
                "https://a.example/x?q=1&access_token=REDACTED&page=2"
            ),
            ("https://a.example/x?Access-Token=s3cret", "https://a.example/x?Access-Token=REDACTED"),
            ("https://a.example/x?access%5Ftoken=s3cret", "https://a.example/x?access%5Ftoken=REDACTED"),
            ("https://a.example/x?a=b=c&token=s3=cret", "https://a.example/x?a=b=c&token=REDACTED"),
            (
                "https://a.example/x?api_key=s3cret&key=s3cret&sig=s3cret",
                "https://a.example/x?api_key=REDACTED&key=REDACTED&sig=REDACTED"
            ),
            ("https://user:s3cret@a.example/x", "https://REDACTED@a.example/x"),
            ("https://a.example/x@y?token", "https://a.example/x@y?token"),
            ("https://a.example/x?X-Amz-Signature=s3cret", "https://a.example/x?X-Amz-Signature=REDACTED"),
        ]
    )
    func urls(_ url: String, _ expected: String) throws {
        #expect(redaction.redacted(try #require(URL(string: url))) == expected)
    }

    @Test("Redacts a JWT anywhere")
    func jwts() throws {
        let url = try #require(URL(string: "https://a.example/t/\(jwt)/x"))
        #expect(redaction.redacted(url) == "https://a.example/t/REDACTED/x")
        #expect(redaction.redacted(["X-Odd": "a,\(jwt)"])["X-Odd"] == "a,REDACTED")
        for (text, type, expected) in [
            (jwt, "text/plain", "REDACTED"), (#"{"a":"x \#(jwt)"}"#, "application/json", #"{"a":"x REDACTED"}"#),
            (
                "eyJust a word and xeyJhbGciOiJIUzI1NiJ9.a.b", "text/plain",
                "eyJust a word and xeyJhbGciOiJIUzI1NiJ9.a.b"
            ),
        ] {
            #expect(body(text, type) == expected)
        }
    }

    @Test(
        "Redacts secret members of JSON at any depth, and keeps all other bytes",
        .shows("H18", "P11"),
        arguments: [
            (#"{ "access_token" : "s3cret", "n": 1.50 }"#, #"{ "access_token" : "REDACTED", "n": 1.50 }"#),
            (
                #"{"a":[{"client_secret":["s3cret",{"x":"s3cret"}],"b":2}]}"#,
                #"{"a":[{"client_secret":"REDACTED","b":2}]}"#
            ),
            (
                #"{"password":12345,"token":null,"secret":true}"#,
                #"{"password":"REDACTED","token":null,"secret":"REDACTED"}"#
            ),
            (#"{"acc\u0065ssToken":"s\"3cret\\"}"#, #"{"acc\u0065ssToken":"REDACTED"}"#),
            (
                #"{"x":"password","y":{"token":{"z":"}"}},"z":"access_token:"}"#,
                #"{"x":"password","y":{"token":"REDACTED"},"z":"access_token:"}"#
            ),
            (
                "{\"token\":\"s3cret\"}\n{\"token\":\"s3cret\"}\n",
                "{\"token\":\"REDACTED\"}\n{\"token\":\"REDACTED\"}\n"
            ),
            (#"["password","s3"]"#, #"["password","s3"]"#),
            (#"{"code":"invalid","state":"x"}"#, #"{"code":"invalid","state":"x"}"#),
            ("", ""), ("12", "12"),
        ]
    )
    func json(_ text: String, _ expected: String) {
        #expect(body(text) == expected)
        #expect(body(text, "application/vnd.a+json; charset=utf-8") == expected)
    }

    @Test(
        "Doesn't show malformed JSON",
        arguments: [
            #"{"token":"s3cret"#, #"{"token""#, #"{"token":"#, #"{"a":1]"#, #"{"a":[}"#, #"{"token" "s3cret"}"#,
            #"{"token":}"#,
            #"{"token":{"a":1]"#, #"{"to\uD800ken":"#, #"{"a":1 "token":"s3cret"}"#, "{'token':'s3cret'}",
            "{token=s3cret}", "{token:s3cret}", "[token=s3cret]", "[a] token=s3cret", #"{"a":1} token=s3cret"#,
        ]
    )
    func brokenJSON(_ text: String) {
        #expect(body(text) == nil)
    }

    @Test(
        "Redacts the values of secret names in forms and text, and text that looks like JSON, regardless of its type",
        arguments: [
            (" \n{\"token\":\"s3cret\"}", "text/plain", " \n{\"token\":\"REDACTED\"}"),
            ("{\"token\":\"s3cret\"}", nil, "{\"token\":\"REDACTED\"}"),
            ("[{\"token\":\"s3cret\"}]", "text/html", "[{\"token\":\"REDACTED\"}]"),
            ("[info] token=s3cret", "text/plain", "[info] token=REDACTED"),
            ("{token=s3cret, a=b}", nil, "{token=REDACTED, a=b}"),
            ("{\"a\":1 \"token\":\"s3cret\"}", "text/plain", "{\"a\":1 \"token\":\"REDACTED\"}"),
            (
                "grant_type=x&client%5Fsecret=s3;cret&code=s3cret&a=b", "application/x-www-form-urlencoded",
                "grant_type=x&client%5Fsecret=REDACTED&code=REDACTED&a=b"
            ),
            (
                "see https://a.example/?token=s3cret and \"password=s3cret\".", "text/plain",
                "see https://a.example/?token=REDACTED and \"password=REDACTED\"."
            ),
        ] as [(String, String?, String)]
    )
    func texts(_ text: String, _ type: String?, _ expected: String) {
        #expect(body(text, type) == expected)
    }

    @Test(
        "Doesn't show other media types, or binary data",
        arguments: ["text/html", "application/xml", "image/png", "multipart/form-data; boundary=a"]
    )
    func others(_ type: String) {
        #expect(body("<secret>s3cret</secret>", type) == nil)
        #expect(redaction.redacted(Data([0xFF, 0xFE]), contentType: "text/plain") == nil)
    }

    @Test("Adds names, and shows everything on request")
    func extending() throws {
        let more = redaction.adding(headers: ["X-Session"], names: ["pin"])
        #expect(more.redacted(["x-session": "1"])["X-Session"] == "REDACTED")
        #expect(more.redacted(Data(#"{"PIN":1}"#.utf8), contentType: nil) == #"{"PIN":"REDACTED"}"#)
        let none = Redaction.insecureNone
        #expect(none.redacted(["Authorization": "Bearer a"])["Authorization"] == "Bearer a")
        #expect(none.redacted(Data("<a/>".utf8), contentType: "text/html") == "<a/>")
        #expect(none.redacted(try #require(URL(string: "https://a.example/?token=a"))) == "https://a.example/?token=a")
    }
}
