import Foundation
import Networking
import Testing

@Suite("URLQuery")
struct URLQueryTests {
    private func query(_ query: URLQuery, base: String = "https://a.example") -> String? {
        SampleEndpoint(base, query: query).url.map { String($0.dropFirst(base.count)) }
    }

    @Test("Repeats the name of an array, or separates elements with commas, or adds brackets")
    func arrays() {
        #expect(query(["filter": 1]) == "?filter=1")
        #expect(query(["filter": [1, 2, 3]]) == "?filter=1&filter=2&filter=3")
        #expect(query(["filter": URLQuery.commaSeparated([1, 2, 3])]) == "?filter=1,2,3")
        #expect(query(["filter": URLQuery.commaSeparated(["a,b", "c&d"])]) == "?filter=a%2Cb,c%26d")
        #expect(query(["filter": URLQuery.bracketed([1, 2])]) == "?filter%5B%5D=1&filter%5B%5D=2")
        #expect(
            query(["a": [1, 2], "b": "x", "c": URLQuery.commaSeparated(["1", "2"]), "d": true])
                == "?a=1&a=2&b=x&c=1,2&d=true"
        )
    }

    @Test("Encodes names and values strictly, including the plus sign that STRV doesn't escape")
    func encoding() {
        #expect(query(["name[first]": "name]surname"]) == "?name%5Bfirst%5D=name%5Dsurname")
        #expect(query(["q": "a+b&c=d#e f/ü?"]) == "?q=a%2Bb%26c%3Dd%23e%20f%2F%C3%BC%3F")
        #expect(query(["a&b": "x"]) == "?a%26b=x")
        let time = "2023-11-29T12:13:04.598%2B+%0100"
        #expect(query(["t": URLQuery.percentEncoded(time), "p": "+"]) == "?t=\(time)&p=%2B")
    }

    @Test("Omits nil and empty arrays, but not empty text")
    func omitted() {
        let (absent, present): (String?, String?) = (nil, "x")
        #expect(query(["a": absent, "b": present, "c": nil, "d": ""]) == "?b=x&d=")
        #expect(query(["a": [Int](), "b": [1, nil, 2]]) == "?b=1&b=2")
        #expect(query(["a": URLQuery.commaSeparated([Int]()), "b": URLQuery.bracketed([String]())]) == "")
        #expect(query(["a": absent], base: "https://a.example/x") == "")
    }

    @Test("Accepts values of every kind")
    func kinds() {
        enum Order: String, URLQueryValue { case ascending }
        var query: URLQuery = ["o": Order.ascending, "d": 1.5, "u": UInt8(7), "s": "abc".dropFirst(), "b": false]
        query.append("i", Optional<URLQueryFormattedValue>.some(URLQuery.commaSeparated(["x"])))
        query.appendName("flag")
        #expect(self.query(query) == "?o=ascending&d=1.5&u=7&s=bc&b=false&i=x&flag")
        let id = UUID()
        #expect(self.query(["id": id]) == "?id=\(id.uuidString)")
    }

    @Test("Keeps the base URL's query unchanged in front")
    func merging() {
        let endpoint = SampleEndpoint("https://a.example?item1=one&item2=two", query: ["item3": "three", "item4": 4])
        #expect(endpoint.url == "https://a.example?item1=one&item2=two&item3=three&item4=4")
        #expect(
            SampleEndpoint("https://a.example/x?a=%2B+", path: "y", query: ["a": "+"]).url
                == "https://a.example/x/y?a=%2B+&a=%2B"
        )
        #expect(SampleEndpoint("https://a.example/x?", query: ["a": 1]).url == "https://a.example/x?a=1")
        #expect(SampleEndpoint("https://a.example/x?a=b").url == "https://a.example/x?a=b")
    }

    @Test(
        "Rejects a value passed as percent-encoded that isn't",
        arguments: ["a b", "a#b", "%", "%4", "%zz", "é", "a\nb", "\"", "[1]"]
    )
    func rawDefects(_ value: String) {
        let error = #expect(throws: NetworkError.self) {
            try SampleEndpoint("https://a.example", query: ["a": URLQuery.percentEncoded(value)]).makeURL()
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test("Compares names and values in order")
    func equality() {
        let query: URLQuery = ["a": 1, "b": "2"]
        #expect(query == ["a": "1", "b": 2])
        #expect(query != ["b": 2, "a": 1])
        #expect(Set([query, ["a": 1, "b": 2]]).count == 1)
        #expect(URLQuery().isEmpty && !query.isEmpty)
    }

    @Test("URLComponents and forms read back arbitrary names and values", arguments: UInt64(11)...14)
    func roundTrip(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<250 {
            var query = URLQuery()
            var expected: [URLQueryItem] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let item = URLQueryItem(name: generator.text(), value: generator.text())
                query.append(item.name, item.value)
                expected.append(item)
            }
            let url = try SampleEndpoint("https://a.example/b?own=1", query: query).makeURL()
            let components = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
            #expect(components.path == "/b" && components.fragment == nil)
            #expect(components.queryItems == [URLQueryItem(name: "own", value: "1")] + expected)
            let text = try #require(components.percentEncodedQuery)
            #expect(text.utf8.allSatisfy { $0 != UInt8(ascii: "+") })
        }
    }
}
