import fc from 'fast-check'
import t from 'tap'
import { contrastOf, createBrand } from '../../src/words/template-variables.ts'

t.test('contrast is the ratio of WCAG 2.2', async t => {
  t.equal(contrastOf('#000000', '#ffffff'), 21)
  t.equal(contrastOf('#777777', '#777777'), 1)
  t.equal(contrastOf('#767676', '#fff').toFixed(2), '4.54')
  t.equal(contrastOf('#0a0a0a', '#000').toFixed(2), '1.06')
})

t.test("whatever the brand's colour, its texts can be read", async () => {
  const hex = fc.integer({ min: 0, max: 0xffffff }).map(value => `#${value.toString(16).padStart(6, '0')}`)
  fc.assert(
    fc.property(hex, color => {
      const brand = createBrand({ name: 'B', color })
      return (
        contrastOf(brand.on_color, brand.color) >= 4.5 &&
        contrastOf(brand.ink, '#ffffff') >= 4.5 &&
        contrastOf(brand.ink, '#f3f4f6') >= 4.5 &&
        contrastOf(brand.ink_dark, '#1b1e24') >= 4.5 &&
        contrastOf(brand.ink_dark, '#101216') >= 4.5
      )
    }),
    { numRuns: 2000 },
  )
})

t.test('a colour that reads well is left as it is', async t => {
  const brand = createBrand({ name: 'B', color: '#ABC', url: 'https://example.com/' })
  t.equal(brand.color, '#aabbcc')
  t.equal(brand.url_text, 'example.com')
  t.same(createBrand({ name: 'B', color: '#0a0b0c', url: 'HTTP://example.com/a/' }), {
    name: 'B',
    url: 'HTTP://example.com/a/',
    url_text: 'example.com/a',
    color: '#0a0b0c',
    on_color: '#ffffff',
    ink: '#0a0b0c',
    ink_dark: '#858586',
    edge: '#858586',
  })
  t.same(createBrand({ name: 'B', color: '#ffd400' }), {
    name: 'B',
    url: null,
    url_text: null,
    color: '#ffd400',
    on_color: '#000000',
    ink: '#856e00',
    ink_dark: '#ffd400',
    edge: '#856e00',
  })
})

t.test('a button whose colour is nearly that of a card has an edge', async t => {
  const [pale, dark, own] = ['#dddddd', '#1b1e24', '#1f5fd0'].map(color => createBrand({ name: 'B', color }))
  t.equal(pale?.edge, pale?.ink)
  t.equal(dark?.edge, dark?.ink_dark)
  t.equal(own?.edge, '#1f5fd0')
})

t.test('a text that is no colour is refused', async t => {
  for (const color of ['red', '#12', '#1234567', 'url(x)', '#gggggg', ''])
    t.throws(() => createBrand({ name: 'B', color }), TypeError)
})
