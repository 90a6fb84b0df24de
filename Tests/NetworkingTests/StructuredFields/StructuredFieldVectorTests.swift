import Networking
import TestVectors
import Testing

/// Tests of httpwg/structured-field-tests, from the folder in `JOSE_VECTORS_DIR`.
@Suite(
    "Structured field vectors",
    .enabled(if: ExternalVector.exists(StructuredFieldVector.folder), "\(ExternalVector.hint)"),
    .serialized
)
struct StructuredFieldVectorTests {
    @Test("All files are read")
    func completeness() {
        #expect(StructuredFieldVector.all.count >= 2135)
        #expect(StructuredFieldVector.all.count { $0.raw != nil } >= 1591)
        #expect(StructuredFieldVector.all.count { $0.mustFail } >= 1000)
    }

    @Test("The result is the expected one", arguments: StructuredFieldVector.all)
    func vector(_ vector: StructuredFieldVector) throws {
        guard let raw = vector.raw else {
            let expected = try #require(vector.expected)
            guard !vector.mustFail else {
                #expect(throws: NetworkError(.invalidField, "")) { try expected.serialized() }
                return
            }
            #expect(try [expected.serialized()] == vector.canonical)
            return
        }
        guard !vector.mustFail else {
            #expect(throws: NetworkError(.invalidField, "")) { try vector.parsed(raw) }
            return
        }
        let field = try vector.parsed(raw)
        #expect(field == vector.expected)
        // An empty list or dictionary is omitted.
        let text = try field.serialized()
        let lines = text.isEmpty ? [] : [text]
        #expect(lines == [vector.canonical.joined(separator: ", ")].filter { !$0.isEmpty })
        #expect(try vector.expected?.serialized() == text)
        #expect(try vector.parsed(lines) == field)
    }
}
