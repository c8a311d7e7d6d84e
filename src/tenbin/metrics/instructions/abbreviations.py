"""Abbreviations and words that begin sentences: what the sentence splitters know of a language.

In lower case, without the final dot. A change here can move a count of sentences: raise the number
in the splitter's name.
"""

from __future__ import annotations

from collections.abc import Mapping

_ENGLISH = """
mr mrs ms dr prof sr jr st mt messrs mme rev hon gov sen rep gen col maj capt cmdr lt sgt adm pres
supt vs etc cf e.g i.e eg ie al ca approx est fig figs vol vols no nos pp p ed eds ch sec dept
univ assn bros co corp inc ltd llc plc jan feb mar apr jun jul aug sept sep oct nov dec mon tue
tues wed thu thur thurs fri sat sun a.m p.m u.s u.k u.n u.s.a d.c ph.d m.d b.a m.a b.sc m.sc ave
blvd rd ft oz lb lbs hr hrs min tel ext
"""
_FRENCH = """
m mm mr mme mmes mlle mlles dir dr dre drs dres prof pr cap lt adm assoc min etc cf vs rép i.e
c.-à-d ex p.ex e.g apr av j.c j.-c è n c a.d env janv fév févr mar avr juil sept oct nov déc p.-ê
svp s.v.p p.-v p.v tél adj q.v p pp resp tel v vol nb n.b p.s ps p.p.s p.-s p-s st ste art chap éd
fig bd no hab
"""
_SPANISH = """
sr sra sres sras srta d dª dña dr dra dres drs prof profa lic ing arq gral cap cnel tte av avda c
pl ctra núm n.º nº no pág págs p pp vol ej p.ej art fig tel tfno ud uds vd vds aprox máx mín a.c
d.c a.m p.m ee ee.uu s.a s.l etc vs cf ene feb mar abr may jun jul ago sep sept oct nov dic st sto
sta kg km cm ed eds
"""
_ENGLISH_STARTERS = """
the this that these those it he she they we you i there here however but and so if when while
although in on at for after before as since what who why how his her its their our my your
"""
_FRENCH_STARTERS = """
le la les l un une des ce cet cette ces il elle ils elles on nous vous je tu mais et donc or ni
car si quand lorsque dans en sur pour après avant comme cependant toutefois ainsi son sa ses leur
leurs notre nos votre vos
"""

ABBREVIATIONS: Mapping[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "fr": frozenset(_FRENCH.split()),
    "es": frozenset(_SPANISH.split()),
}
STARTERS: Mapping[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH_STARTERS.split()),
    "fr": frozenset(_FRENCH_STARTERS.split()),
}
"""Words that begin a sentence so often that even an abbreviation before them ends one."""

PUNKT_FRENCH = """
m mr mme mlle dir. dr dre drs dres prof pr cap lt adm. assoc. min. etc cf vs rép i.e c.-à-d ex e.g
apr av j.c. j.-c. j.c j.-c a.d env janv fév mar avr juil sept oct nov déc p.-ê. svp p.-v. p.v tél
adj q.v p resp tel v vol nb n.b p.s ps p.p.s p.-s p-s
"""
"""What the published French rules add to punkt's abbreviations."""
PUNKT_FRENCH_PHRASES = ("av. è. c.", "è. c", "av. n. è", "de n. è.")
