extension HTTPRequestData {
    /// The content codings, in addition to those of the transport, in which this request accepts responses.
    ///
    /// Empty by default. AsyncHTTPClient adds their names to the `Accept-Encoding` that it sends, unless the request
    /// has that field itself, and decodes bodies with them, within ``decompressionLimit``. A coding that the transport
    /// knows is decoded by the given decoder instead. Codings without a decoder are ignored. URLSession decodes with
    /// its own decoders only.
    public var contentDecoders: [ContentCoding] {
        get { self[.acceptedContentCodings] }
        set { self[.acceptedContentCodings] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/contentDecoders``.
    public static let contentDecoders: RequestOptionKey = acceptedContentCodings

    // The decoded body is the same, whichever coding the server has chosen.
    fileprivate static let acceptedContentCodings = RequestOption<[ContentCoding]>(
        "contentDecoders",
        default: [],
        affects: .sending { $0.map(\.name) }
    )
}
