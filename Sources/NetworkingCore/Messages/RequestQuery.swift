package import FoundationForNetworking

/// The query of a request, with access to its items by name.
///
/// ```swift
/// request.query.greeting = "Hello World"   // ?greeting=Hello%20World
/// request.query["page"] = "2"
/// request.query[values: "tag"] = ["swift", "http"]
/// request.query.greeting = nil             // removes it
/// ```
///
/// Names and values are decoded when read and encoded when written. Items that are not changed keep their position and
/// their exact bytes.
@dynamicMemberLookup
public struct RequestQuery: Sendable, Hashable {
    /// The items between the ampersands, still encoded; `nil` if the URL has no question mark.
    private var encodedItems: [Substring]?

    package init(encoded: Substring?) {
        encodedItems = encoded?.split(separator: "&", omittingEmptySubsequences: false)
    }

    /// The encoded query as in the URL, without its question mark; `nil` if there is none.
    public var encoded: String? {
        encodedItems?.joined(separator: "&")
    }

    /// Whether there are no items.
    public var isEmpty: Bool {
        encodedItems?.allSatisfy(\.isEmpty) ?? true
    }

    /// Adds the items of another query after the existing ones.
    ///
    /// - Parameter query: The other query. Its items keep their exact bytes.
    public mutating func append(_ query: RequestQuery) {
        guard !query.isEmpty else { return }
        encodedItems = (isEmpty ? [] : encodedItems ?? []) + (query.encodedItems ?? [])
    }

    /// Adds encoded items after the existing ones.
    mutating func append(encoded items: [String]) {
        guard !items.isEmpty else { return }
        encodedItems = (encodedItems ?? []) + items.map { $0[...] }
    }

    /// The value of the first item with this name; setting it removes the others, and `nil` removes all.
    ///
    /// The value of an item without `=` is empty.
    ///
    /// - Parameter name: The decoded name.
    public subscript(name: String) -> String? {
        get { encodedItems?.lazy.map(Item.init).first { $0.name == name }.map { $0.value ?? "" } }
        set { self[values: name] = newValue.map { [$0] } ?? [] }
    }

    /// The value of the first item with this name; setting it removes the others, and `nil` removes all.
    ///
    /// - Parameter name: The name of the item, as a property.
    public subscript(dynamicMember name: String) -> String? {
        get { self[name] }
        set { self[name] = newValue }
    }

    /// The values of all items with this name, in order.
    ///
    /// New values are inserted at the position of the first old one.
    ///
    /// - Parameter name: The decoded name.
    public subscript(values name: String) -> [String] {
        get { items.filter { $0.name == name }.map { $0.value ?? "" } }
        set {
            // An empty query is one empty item, which would leave an ampersand before the first item.
            var kept = encodedItems == [""] && !name.isEmpty ? [] : encodedItems ?? []
            let first = kept.firstIndex { Item($0).name == name } ?? kept.count
            kept.removeAll { Item($0).name == name }
            let added = newValue.map { Item(name: name, value: $0).encoded(with: .standard) }
            kept.insert(contentsOf: added, at: min(first, kept.count))
            encodedItems = kept.isEmpty ? nil : kept
        }
    }

    /// The decoded items, with their order, repetition and empty values.
    ///
    /// Existing items keep their exact bytes.
    package var items: [URLQueryItem] {
        get {
            (encodedItems ?? [])
                .map { encodedItem in
                    let item = Item(encodedItem)
                    return URLQueryItem(name: item.name, value: item.value)
                }
        }
        set {
            let given = Dictionary((encodedItems ?? []).map { (Item($0), $0) }) { first, _ in first }
            let items = newValue.map { Item(name: $0.name, value: $0.value) }
            encodedItems = items.isEmpty ? nil : items.map { given[$0] ?? $0.encoded(with: .standard) }
        }
    }

    /// Encodes every item again.
    mutating func reencode(with encoding: QueryEncoding) {
        encodedItems = encodedItems?.map { Item($0).encoded(with: encoding) }
    }

    private struct Item: Hashable {
        var name: String
        var value: String?

        init(name: String, value: String?) {
            self.name = name
            self.value = value
        }

        init(_ encodedItem: Substring) {
            guard let equals = encodedItem.firstIndex(of: "=") else {
                self.init(name: PercentEncoding.decode(encodedItem), value: nil)
                return
            }
            self.init(
                name: PercentEncoding.decode(encodedItem[..<equals]),
                value: PercentEncoding.decode(encodedItem[encodedItem.index(after: equals)...])
            )
        }

        func encoded(with encoding: QueryEncoding) -> Substring {
            let name = encoding.encode(name)
            guard let value else { return name[...] }
            return "\(name)=\(encoding.encode(value))"[...]
        }
    }
}

extension RequestQuery: CustomStringConvertible, CustomReflectable {
    /// The encoded query as in the URL, with the values of sensitive items redacted.
    public var description: String {
        String(Redaction.standard.target("?\(encoded ?? "")").dropFirst())
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["query": description])
    }
}
