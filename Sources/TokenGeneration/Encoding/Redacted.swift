/// A type whose reflections and dumps show only its description, which reveals nothing secret.
package protocol Redacted: CustomStringConvertible, CustomReflectable {}

extension Redacted {
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
